package main

// secret is a value that leaked into the notes and must never be stored. All of
// them are made up.
type secret struct {
	id    string // what stands in the marker
	value string
}

// secrets are what a host would fill its registry with before it writes the
// notes. Two of them contain another one, the notes hold some only in an encoded
// form as well, and one is eight digits, the shortest that is looked for.
var secrets = []secret{
	{"deploy-key", "acme-live-7Qm2vT9xLr4K"},
	{"deploy-key-eu", "acme-live-7Qm2vT9xLr4K-eu-central"}, // begins with deploy-key
	{"relay-db", "correct-otter-staple-19"},                // also in base64
	{"relay-login", "relay:correct-otter-staple-19"},       // ends with relay-db
	{"smtp-bench", `Mango"Tram\Harbor_88`},                 // also escaped in JSON
	{"pager-pin", "48210937"},
	{"brightwater-callback", "hook:Zp&4k/9Qd+tR7="}, // also URL-encoded
	{"hofer-api-token", "hd_tok_5c1uPz0wQe8nR3"},
	{"saint-cyr-sftp", "Kiefer!Regen-2291"},
	{"muehlbach-login", "Grüße-aus-Jena-77"},
	{"audit-run", "run-9f31c7-Lark-Ember"},
}
