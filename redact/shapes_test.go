package redact

import (
	"io"
	"strings"
	"testing"
)

// The examples are put together here, so that no scanner takes this file for a
// leak.
var (
	x16   = "Q7Z2K5M3X6R4T9WB"
	x20   = "aB3dE5gH7jK9mN1pQ3sT"
	x40   = x20 + "uV5xY7zA9cD1fG3hJ5kL"
	h32   = "0123456789abcdef0f1e2d3c4b5a6978"
	b58   = strings.Repeat("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 2)[:58]
	low43 = strings.Repeat("a1b2c3d4e5f6g7h8i9j0", 3)[:43]
	pem   = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n"
)

// shapeCases have a text that is taken as a whole, and one that is left alone.
var shapeCases = []struct{ id, hit, miss string }{
	{"leak", "[BYOK:" + "my key]", "[BYOC:my key]"},
	{"leak", "<REDACTED:" + "password>", "<REDUCED:password>"},
	{"pem-key", "-----BEGIN " + "PRIVATE KEY-----\n" + pem + "-----END PRIVATE KEY-----", "-----BEGIN PUBLIC KEY-----\n" + pem + "-----END PUBLIC KEY-----"},
	{"pem-key", "-----BEGIN " + "RSA PRIVATE KEY-----\\n" + strings.ReplaceAll(pem, "\n", "\\n") + "-----END RSA PRIVATE KEY-----", "-----BEGIN CERTIFICATE-----\n" + pem},
	{"pem-key", "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\n\n" + pem + "-----END PGP PRIVATE KEY BLOCK-----", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n" + pem},
	{"jwt", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "eyJhbGciOiJIUzI1NiJ9.abcdefghijklmn"},
	{"openai", "sk-" + "proj-" + x40, "sk-proj-short"},
	{"openai", "sk-" + x40 + "abcd1234", "task-" + x40 + "abcd1234"},
	{"ant-key", "sk-" + "ant-api03-" + x40, "sk-ant-farm"},
	{"openrtr", "sk-" + "or-v1-" + h32 + h32, "sk-or-v1-0123"},
	{"groq", "gsk" + "_" + x40 + x16, "gsk_" + x20},
	{"hf", "hf" + "_" + x40, "half_" + x40},
	{"replic8", "r8" + "_" + x40, "r8_" + x20},
	{"github", "ghp" + "_" + x40, "ghp_" + x20},
	{"github", "github" + "_pat_" + x20 + "_" + x40, "github_pat_" + x20},
	{"gitlab", "glpat" + "-" + x20, "glpat-short"},
	{"npm", "npm" + "_" + x40, "npm_config_registry"},
	{"pypi", "pypi" + "-AgE" + x40 + x20, "pypi-AgE" + x20},
	{"aws", "AK" + "IA" + x16, "AKIA" + x16[1:]},
	{"aws", "AS" + "IA" + x16, "EURASIA" + x16},
	{"google", "AI" + "za" + x40[:35], "AIza" + x20},
	{"google", "GOC" + "SPX-" + x40[:28], "GOCSPX-x"},
	{"google", "ya" + "29." + x40, "ya29.x"},
	{"do", "dop" + "_v1_" + h32 + h32, "dop_v1_" + h32},
	{"vault", "hv" + "s." + x40, "hvs.length"},
	{"dbricks", "da" + "pi" + h32, "dapi" + h32[1:]},
	{"age", "AGE-" + "SECRET-KEY-1" + x16 + x16 + x16 + x16, "AGE-SECRET-KEY-1" + x16},
	{"stripe", "sk" + "_live_" + x40, "pk_live_" + x40},
	{"stripe", "wh" + "sec_" + x40, "whsec_x"},
	{"shopify", "shp" + "at_" + h32, "shpat_" + x20},
	{"slack", "xox" + "b-1234567890-" + x20, "xoxb-1234"},
	{"sendgrd", "SG" + "." + x20 + "." + x40, "SG." + x20},
	{"linear", "lin" + "_api_" + x40, "lin_api_" + x20},
	{"grafana", "gl" + "sa_" + x40, "glsa_" + x20},
	{"", "", "123e4567-e89b-12d3-a456-426614174000"},
	{"", "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
	{"", "", "commit e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
	{"", "", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},
	{"", "", "https://example.com/a:b@c and user@example.com at 12:30"},
	{"xai", "xai" + "-" + x40 + x40, "xai-" + x40},
	{"pplx", "pplx" + "-" + x40 + "abcd1234", "pplx-" + x20},
	{"pinecon", "pcsk" + "_" + x20 + "_" + x40, "pcsk_" + x40},
	{"langsm", "lsv2" + "_pt_" + h32 + "_0123456789", "lsv2_pt_" + h32},
	{"openai", "sk" + "-" + h32, "sk-" + x20},
	{"gitlab", "gloas" + "-" + x40, "gloas-" + x16},
	{"atlass", "ATATT3" + "xFfGF0" + x40 + x40 + x40 + "=1A2B3C4D", "ATATT3" + x40},
	{"rubygem", "rubygems" + "_" + h32 + h32[:16], "rubygems_" + h32},
	{"nuget", "oy2" + low43, "oy2" + low43 + "a"},
	{"docker", "dckr" + "_pat_" + x40[:27], "dckr_pat_" + x20},
	{"aws", "ABSK" + x40 + x40 + x40, "ABSK" + x40},
	{"aws", "IQoJb3JpZ2lu" + x40 + x40 + x40, "IQoJb3JpZ2lu" + x40},
	{"aws", "amzn.mws" + ".4ea38b7b-f563-7709-4bae-87aea15c3b12", "amzn.mws.x"},
	{"google", "1//0" + x40 + x20, "1//0" + x20},
	{"azure", "abc" + "8Q~" + x40[:34], "abcd8Q~" + x40[:34]},
	{"do", "dor" + "_v1_" + h32 + h32, "dor_v1_" + h32},
	{"fly", "fo1" + "_" + x40 + "abc", "fo1_" + x20},
	{"heroku", "HRKU-AA" + x40 + x20, "HRKU-AA" + x40},
	{"netlify", "nfp" + "_" + x40, "nfp_" + x20},
	{"supabas", "sbp" + "_" + h32 + "01234567", "sbp_" + x20},
	{"tailscl", "tskey" + "-auth-" + x20 + "-" + x40, "tskey-auth-x"},
	{"tfcloud", x20[:14] + ".atlas" + "v1." + x40 + x40, x20 + ".atlasv1." + x40 + x40},
	{"pulumi", "pul" + "-" + h32 + "01234567", "pul-" + h32},
	{"doppler", "dp" + ".pt." + x40 + "abc", "dp.pt." + x20},
	{"1passwd", "ops_ey" + "J" + x40 + x40 + x40 + x40 + x40, "ops_eyJ" + x40},
	{"nostr", "nsec" + "1" + b58, "nsec1" + b58 + "q"},
	{"stripe", "rk" + "_test_" + x40, "rk_test_" + x20},
	{"square", "sq0csp" + "-" + x40 + "abc", "sq0csp-" + x20},
	{"square", "EAAA" + "E" + x40 + x20, "EAAAE" + x40},
	{"plaid", "access" + "-production-4ea38b7b-f563-7709-4bae-87aea15c3b12", "access-production-4ea38b7b"},
	{"slack", "xox" + "e-1-" + x40, "xoxe-1"},
	{"slack", "xox" + "c-123456789012-" + x40, "xoxc-1"},
	{"slack", "xox" + "d-" + x20 + "%2B" + x20, "xoxd-1"},
	{"twilio", "S" + "K" + h32, "SK" + h32 + "0"},
	{"mailgun", "key" + "-" + h32, "key-" + h32 + "0"},
	{"brevo", "xkeysib" + "-" + h32 + h32 + "-" + x16, "xkeysib-" + h32},
	{"resend", "re" + "_" + x20[:8] + "_" + x40[:24], "re_" + x20[:8] + "_" + x20},
	{"notion", "ntn" + "_" + x40 + "abcdef", "ntn_" + x20},
	{"notion", "secret" + "_" + x40 + "abc", "secret_" + x40},
	{"airtabl", "pat" + x20[:14] + "." + h32 + h32, "pat" + x20[:14] + "." + h32},
	{"hubspot", "pat" + "-na1-4ea38b7b-f563-7709-4bae-87aea15c3b12", "pat-na1-4ea38b7b"},
	{"figma", "figd" + "_" + x40, "figd_" + x20},
	{"mapbox", "sk." + "eyJ" + x40 + x20 + "." + x20 + "ab", "sk.eyJ" + x40},
	{"postman", "PMAK" + "-" + h32[:24] + "-" + h32 + "01", "PMAK-" + h32},
	{"dropbox", "sl" + "." + x40 + x40 + x40 + x20, "sl." + x40},
	{"grafana", "glc_ey" + "J" + x40 + x20, "glc_eyJ" + x20},
	{"grafana", "eyJr" + "Ijoi" + x40 + x40, "eyJrIjoi" + x40},
	{"sentry", "sntrys_ey" + "J" + x40 + x20 + "=_" + x20, "sntrys_eyJ" + x20},
	{"newrel", "NRAK" + "-" + x16 + "ABCDEFGHIJK", "NRAK-" + x16},
	{"sonar", "squ" + "_" + h32 + "01234567", "squ_" + h32},
	// Masks and made-up tokens.
	{"", "", "ghp_" + strings.Repeat("x", 36)},
	{"", "", "sk-proj-" + strings.Repeat("*", 40)},
	{"", "", "AKIA" + strings.Repeat("X", 16)},
	// Amazon's samples, as documents have them, and keys that only resemble them.
	{"aws", "AK" + "IAIOSFODNN7" + "EXAMPLF", "AKIAIOSFODNN7EXAMPLE"},
	{"aws", "AK" + "IA" + "EXAMPLE" + x16[:9], "AKIAI44QH8DHBEXAMPLE"},
	{"github", "ghp" + "_" + x40 + "EXAMPLE", ""},
}

func TestR5_Shapes(t *testing.T) {
	for _, c := range shapeCases {
		derivedCase(t, c.id, c.hit, c.hit, c.miss)
	}
}

// shapeParts have a secret within a text, and a text that is left alone.
var shapeParts = []struct{ id, before, secret, after, miss string }{
	{"urlpass", "postgres://app:", "s3cr@t", "@db:5432/x", "postgres://app@db:5432/x"},
	{"urlpass", "https://:", "tok", "@h", "https://app:${PASSWORD}@db"},
	{"urlpass", "redis://:", "pa[ss]", "@h", "redis://app:****@h"},
	{"urlpass", "a://u:", "x[REDACTED:y]", "@h", "a://u:[REDACTED:y][REDACTED:z]@h"},
	{"dsnpass", "host=db user=app password=", "s3cret", " dbname=x", "the password=s3cret is not in a connection string"},
	{"dsnpass", "Server=db;User Id=sa;Password='", "s;cret", "';Encrypt=true", "Server=db;User Id=sa;Password='';Encrypt=true"},
	{"dsnpass", "Data Source=db;Pwd=", "s3cret", ";x=1", "Data Source=db;Pwd=%s;x=1"},
	{"bearer", "Authorization: Bearer ", x40, "\n", "Bearer authentication-is-required-here"},
	{"basic", "Authorization: Basic ", "dXNlcjpwYXNz" + "d29yZA", "==", "Authorization: Basic auth"},
	{"aws", "aws_secret_access_key = ", x20 + "/" + x20 + "+", "\n", "aws_secret_access_key is " + x40},
	{"aws", "aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEZ", "\n", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
	{"azure", "AccountKey=", x40 + x40, "==;x", "AccountKey=x"},
	{"slack", "https://hooks.slack.com/services/", "T00000000/B00000000/" + x20, " ", "https://hooks.slack.com/services/new"},
	{"telegrm", "https://api.telegram.org/bot", "123456789:" + x40, "/getMe", "https://api.telegram.org/bots/api"},
	{"slack", "token: ", "xox" + "e.xoxp-1-" + x40, " ", "xoxe.xoxp"},
	{"basic", `{"Authorization":"Basic `, "dXNlcjpwYXNz" + "d29yZA", `=="}`, `{"Authorization":"Basic auth is off"}`},
	{"basic", `{\"authorization\": \"basic `, "YTpzM2NyM3Q6" + "eHl6", `\"}`, "Authorization: Basic knowledge of the house"},
	{"basic", "proxy-authorization=BASIC ", "dXNlcjpwYXNz" + "d29yZA", "==", "Basic dXNlcjpwYXNzd29yZA=="},
	{"bearer", "AUTHORIZATION: BEARER ", x40, "\n", "BEARER OF BAD NEWS-AND-OTHER-THINGS-TO-TELL"},
	{"aws", `"secretAccessKey": "`, x40, `"`, `"secretAccessKey": "see the vault"`},
	{"dsnpass", "postgres://db/app?user=app&password=", "s3cret/x", "&sslmode=off", "postgres://db/app?user=app&password=$PASSWORD"},
	{"dsnpass", "jdbc:mysql://db/app?password=", "s3cret", " ", "https://example.com/reset?password=<new>"},
	{"dsnpass", "Driver={SQL};Uid=sa;Pwd=", "s3cret", ";", "Driver={SQL};Uid=sa;Pwd={pwd};"},
	{"urlpass", "https://", x40, "@example.com/x", "https://someone-with-a-long-name@example.com"},
	{"urlpass", "postgres://app:", "$3cr3t", "@db/x", "postgres://app:$DB_PASSWORD@db/x"},
	{"urlpass", "postgres://app:", "{s3cret", "@db/x", "postgres://app:{password}@db/x"},
	{"urlpass", "postgres://app:", "%24ecret", "@db/x", "postgres://app:%s@db/x"},
	{"urlpass", "postgres://app:", "s3/cr#et", "@db/x", "http://localhost:8080/@vite/client and http://h:80/a#b@c"},
	{"urlpass", "amqp://app:", "#s3cret?", "@mq:5672/", "http://h:$PORT/x@y"},
	{"azure", "https://a.blob.core.windows.net/c?sv=1&sig=", x40 + "%2Bab%3D", "&se=2", "https://example.com/?sig=short"},
	{"secret", "DATADOG_API_KEY=", h32, "\n", "DATADOG_API_KEY=<your key> and API_KEY = base64EncodedValueOf(key)"},
	{"secret", `{"client_secret": "`, x40, `"}`, `"client_secret": "see-the-vault-in-room-12"`},
	{"secret", "acme_token: '", "b9f1" + h32[4:8] + "-77aa-4c1d-9e01-" + h32[:12], "'", "token := tokenOf(request1, response2)"},
	{"secret", "acme_secret = ", h32, "\n", `"shared_secret": "` + h32 + `"`},
	{"secret", "?api_key=", "fWfSMcDzyHfMuH" + "8BW6jiIUBYaj0hKRyKBRTBqgEQ", "&x=1", "?api_key=DEMO_KEY"},
	{"github", "GITHUB_TOKEN=", "ghp" + "_" + x40, "\n", "GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}"},
	{"discord", "https://discord.com/api/webhooks/", "123456789012345678/" + x40 + x40, " ", "https://discord.com/api/webhooks/new"},
}

// TestR5_Parts has the shapes of which only a part is the secret.
func TestR5_Parts(t *testing.T) {
	for _, c := range shapeParts {
		derivedCase(t, c.id, c.before+c.secret+c.after, c.secret, c.miss)
	}
}

// Every row of the table has an example, found by its own row; and there are many.
func TestR5_EveryShapeHasExamples(t *testing.T) {
	kinds := map[string]bool{}
	for i := range shapes {
		s := &shapes[i]
		found := false
		look := func(text string) {
			for _, anchor := range s.anchors {
				for at := strings.Index(text, anchor); at >= 0 && !found; {
					_, to := s.match(text, at, at+len(anchor))
					found = to > 0
					next := strings.Index(text[at+1:], anchor)
					if next < 0 {
						break
					}
					at += 1 + next
				}
			}
		}
		for _, c := range shapeCases {
			look(c.hit)
		}
		for _, c := range shapeParts {
			look(c.before + c.secret + c.after)
		}
		for _, c := range serviceCases {
			look(c.before + c.secret + c.after)
		}
		if !found {
			t.Errorf("%s %q has no example", s.id, s.anchors)
		}
		if len(s.id) >= MinValue {
			t.Errorf("the id %s could hold a value", s.id)
		}
	}
	for line := range strings.Lines(shapeTable) {
		if line[0] == ' ' || line[0] == '#' || line == "\n" {
			continue
		}
		_, kind, _ := strings.Cut(line, " ")
		name, reference, _ := strings.Cut(kind, ": ")
		if kinds[name] = true; reference == "" {
			t.Errorf("%s has no reference", name)
		}
	}
	if len(kinds) < 60 {
		t.Errorf("%d kinds", len(kinds))
	}
}

// A text that speaks of a private key is left alone.
func TestR5_ProseAboutKeys(t *testing.T) {
	for _, text := range []string{
		"The file begins with -----BEGIN " + "PRIVATE KEY----- and ends with -----END " + "PRIVATE KEY-----.",
		"Look for -----BEGIN " + "RSA PRIVATE KEY-----\nand tell nobody of it.",
		"if strings.Contains(s, \"-----BEGIN " + "PRIVATE KEY-----\") { return errInternationalization }",
	} {
		if got, err := New(Config{}).RedactDerived(text); err != nil || got != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	}
}

// A shape that begins before its anchor stops at what was replaced already.
func TestR5_ShapesSideBySide(t *testing.T) {
	in := "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + x20[:14] + ".atlas" + "v1." + x40 + x40
	if got, err := New(Config{}).RedactDerived(in); err != nil || got != "[REDACTED:shape.jwt][REDACTED:shape.tfcloud]" {
		t.Errorf("got %q, %v", got, err)
	}
}

// Tokens that follow each other are taken at once: not one in each pass over the text.
func TestR5_ShapesInARow(t *testing.T) {
	in := strings.Repeat("abc"+"8Q~"+x40[:33]+"-", 400)
	if got, changed := replaceShapes(in, func(string) bool { return false }); !changed || got != "[REDACTED:shape.azure]" {
		t.Errorf("got %.100q", got)
	}
}

// A word of a megabyte that is full of anchors is looked at once. Once for each of them would
// take hours.
func TestR5_AnchorsInOneWord(t *testing.T) {
	in := strings.Repeat("eyJ-", 1<<18)
	if got, err := New(Config{}).RedactDerived(in); err != nil || got != in {
		t.Errorf("got %.100q, %v", got, err)
	}
}

func derivedCase(t *testing.T, id, hit, secret, miss string) {
	t.Helper()
	r := New(Config{})
	for _, frame := range []string{"%", "said: \"%\"", "x=%\ny", "see\\n%\\n"} {
		if strings.ContainsAny(secret+miss, "\n") && frame[0] == 's' || hit == "" {
			continue
		}
		in := strings.Replace(frame, "%", hit, 1)
		got, err := r.RedactDerived(in)
		if want := strings.Replace(in, secret, marker(shapePrefix+id), 1); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", id, got, err, want)
		}
	}
	if got, err := r.RedactDerived("- " + miss + "\n"); err != nil || got != "- "+miss+"\n" {
		t.Errorf("%s: near miss %q became %q, %v", id, miss, got, err)
	}
}

func TestR5_LeakFormsNameRegisteredIds(t *testing.T) {
	r, _ := registered(t, Config{}, []pair{{"my.key", "abcdefgh"}})
	for in, want := range map[string]string{
		"[BYOK:my.key]":            "[REDACTED:my.key]",
		"<REDACTED:my.key>":        "[REDACTED:my.key]",
		"[BYOK:other]":             "[REDACTED:shape.leak]",
		"[BYOK:abcdefgh] abcdefgh": "[REDACTED:shape.leak] [REDACTED:my.key]",
		"[BYOK:open\nnext":         "[REDACTED:shape.leak]\nnext",
		"<REDACTED:open":           "[REDACTED:shape.leak]",
		"[REDACTED:my.key]":        "[REDACTED:my.key]",
		"[REDACTED:[BYOK:x]":       "[REDACTED:[REDACTED:shape.leak]",
		"[REDACTED:" + strings.Repeat("x", MaxID) + "[BYOK:x]": "[REDACTED:" + strings.Repeat("x", MaxID) + "[REDACTED:shape.leak]",
		"[BYOK:a[b[c]d]e]f":                           "[REDACTED:shape.leak]f",
		"<REDACTED:a<b>c>d":                           "[REDACTED:shape.leak]d",
		"[BYOK:" + strings.Repeat("é[x]", 500) + "]f": "[REDACTED:shape.leak]f",
	} {
		if got, err := r.RedactDerived(in); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestR5_PrivateKeyCutOff(t *testing.T) {
	in := "-----BEGIN " + "EC PRIVATE KEY-----\n" + pem
	if got, err := New(Config{}).RedactDerived("key: " + in + "<end>"); err != nil || got != "key: [REDACTED:shape.pem-key]<end>" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestR3_DerivedIsIdempotent glues pieces of shapes, markers and values together.
func TestR3_DerivedIsIdempotent(t *testing.T) {
	pieces := []string{"[BYOK:", "]", "<REDACTED:", ">", "a b", "://", "u:", "x", "@h", "/", "AK" + "IA", x16, "gh" + "p_", x40,
		"eyJ", "hbGciOiJ", ".eyJ", ".", "-----BEGIN ", "PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\n", "[REDACTED:a]",
		"abcdefgh", "sk-", "password=", "host=", "Bearer ", "Authorization: Basic ", "\\n", "%20", "\"", "'"}
	cases := howMany(2000, 100_000)
	rnd := newRand(t, 3)
	r, _ := registered(t, Config{}, []pair{{"a", "abcdefgh"}, {"b", "]xyzxyz]x"}})
	for range cases {
		var in strings.Builder
		for range 1 + rnd.IntN(10) {
			in.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		once, err := r.RedactDerived(in.String())
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := r.RedactDerived(once); err != nil || twice != once {
			t.Fatalf("%q\nonce  %q\ntwice %q, %v", in.String(), once, twice, err)
		}
		if strings.Contains(once, "[BYOK:") || strings.Contains(once, "<REDACTED:") || strings.Contains(once, "abcdefgh") {
			t.Fatalf("%q leaves %q", in.String(), once)
		}
	}
}

// TestR5_ShapesOnRequest redacts by every method of a registry that was asked for shapes, and in
// every chunking.
func TestR5_ShapesOnRequest(t *testing.T) {
	secret := "ghp" + "_" + x40
	in := "Mine is " + secret + ", and -----BEGIN " + "PRIVATE KEY-----\n" + pem + "-----END PRIVATE KEY----- abcdefgh."
	want := "Mine is [REDACTED:shape.github], and [REDACTED:shape.pem-key] [REDACTED:a]."
	r, _ := registered(t, Config{Shapes: true}, []pair{{"a", "abcdefgh"}})
	if got, err := r.Redact(in); err != nil || got != want {
		t.Errorf("Redact: %q, %v", got, err)
	}
	if got, err := r.Append([]byte("> "), []byte(in)); err != nil || string(got) != "> "+want {
		t.Errorf("Append: %q, %v", got, err)
	}
	for size := 1; size <= len(in); size++ {
		var out strings.Builder
		w := r.NewWriter(&out)
		for rest := in; rest != ""; rest = rest[min(size, len(rest)):] {
			if _, err := io.WriteString(w, rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || out.String() != want {
			t.Fatalf("pieces of %d: %q, %v", size, out.String(), err)
		}
	}
	plain, _ := registered(t, Config{}, nil)
	if got, err := plain.Redact(in); err != nil || got != in {
		t.Errorf("without shapes: %q, %v", got, err)
	}
}

// TestR6_ShapesFailClosed has a registry that rejects, and writers whose registry is closed meanwhile.
func TestR6_ShapesFailClosed(t *testing.T) {
	secret := "ghp" + "_" + x40
	r := New(Config{Shapes: true, Policy: Reject})
	if got, err := r.Redact(secret); got != "" || err != ErrSecretFound {
		t.Errorf("Redact: %q, %v", got, err)
	}
	if got, err := r.Append([]byte("> "), []byte(secret)); string(got) != "> " || err != ErrSecretFound {
		t.Errorf("Append: %q, %v", got, err)
	}
	var out strings.Builder
	found, late := r.NewWriter(&out), r.NewWriter(&out)
	if _, err := io.WriteString(found, secret); err != nil {
		t.Error(err)
	}
	if err := found.Close(); err != ErrSecretFound {
		t.Errorf("Close: %v", err)
	}
	r.Close()
	if _, err := io.WriteString(late, "harmless"); err != ErrClosed || out.Len() > 0 {
		t.Errorf("Write after Close: %q, %v", out.String(), err)
	}
}

// TestR3_NoIDOfAShape keeps the ids of shapes for shapes.
func TestR3_NoIDOfAShape(t *testing.T) {
	r := New(Config{})
	for _, id := range []string{"shape.aws", "shape.", "shape.mine"} {
		if err := r.Register(id, []byte("hunter2hunter2")); err != ErrID {
			t.Errorf("%s: %v", id, err)
		}
	}
	if err := r.Register("shape", []byte("hunter2hunter2")); err != nil {
		t.Error(err)
	}
}

// What looks like a token up to the end of the window, and is none at its own end, is left alone.
// No shape fails over a token of any length and what follows it.
func TestR5_LongerThanTheWindow(t *testing.T) {
	long := strings.Repeat(x20, tokenWindow/len(x20)+2)
	in := "token=" + long + "(x)"
	if got, err := New(Config{}).RedactDerived(in); err != nil || got != in {
		t.Errorf("got %.100q, %v", got, err)
	}
	n := howMany(32, 128)
	for _, c := range serviceCases {
		for i := range n {
			end := i * 128 / n
			if _, err := New(Config{}).RedactDerived(c.before + c.secret + long + string(rune(end)) + "x"); err != nil {
				t.Fatal(c.id, err)
			}
		}
	}
}
