package models_test

import (
	"maps"
	"strings"
)

// The second half of the battery was written when the module was done and the first half passed.
func init() {
	maps.Copy(hostileAnswers, map[string]string{
		"in a fence": "```json\n" + same(shift) + "\n```", "invalid UTF-8": "{\"same\":true,\"text\":\"\xff\xfe",
		"a byte order mark": "\ufeff" + same(shift), "two answers": same(shift) + same(shift), "a string": `"{\"same\":true}"`,
		"null fields":  `{"same":null,"text":null,"arms":null,"unclear":null,"items":null}`,
		"wide objects": `{` + strings.Repeat(`"a":1,`, 100000) + `"a":1}`,
		"no choices":   doRaw + `{"id":"x","object":"chat.completion","choices":[],"type":"message","content":[],"stop_reason":"pause_turn"}`,
	})
	maps.Copy(hostileFailures, map[string]string{"404": doStatus + "404", "413": doStatus + "413", "504": doStatus + "504", "nothing": doRaw,
		"an event stream": doRaw + "data: {\"a\":1}\n\ndata: [DONE]\n\n"})
	maps.Copy(hostileMerges, map[string]string{
		"swapped digits": same("Kestrel's night shift starts at 20:22 in the harbour of Genoa."),
		"wide digits":    same("Kestrel's night shift starts at ２２:００ in the harbour of Genoa."),
		"a homoglyph":    same("K\u0435strel's night shift starts at 22:00 in the harbour of Genoa."),
		"a hidden blank": same("Kestrel's night shift starts at 2\u200b2:00 in the harbour of Genoa."),
		"a name more":    same("Kestrel's night shift starts at 22:00 in the harbour of Genoa, says Lena."),
		"an address":     same(shift + " See https://evil.example/x?y=1"),
		"a quotation":    same(`Kestrel's "night shift" starts at 22:00 in the harbour of Genoa.`),
		"never":          same("Kestrel's night shift never starts at 22:00 in the harbour of Genoa."),
		"a day":          same("Kestrel's night shift starts at 22:00 on Monday in the harbour of Genoa."),
		"japanese":       same("Kestrelの夜勤はGenoa港で22:00に始まります。"),
	})
	maps.Copy(hostileArms, map[string]string{
		"zero": arm("every", "0s"), "not a number": arm("every", "NaN"), "an alias": arm("cron", "@every 1s"),
		"a time zone": arm("cron", "CRON_TZ=UTC 0 9 * * *"), "in UTC": arm("at", "2026-05-12T17:00Z"), "blanks": arm("at", " 2026-05-12T17:00 "),
		"the year 0": arm("at", "0000-01-01T00:00"), "no such month": arm("at", "2026-13-01T00:00"), "no such day of a month": arm("at", "2026-02-30T10:00"),
		"beyond time": arm("every", "9999999999h"), "upper case": arm("AT", "2026-05-12T17:00"), "six fields": arm("cron", "0 0 9 * * *"),
	})
	maps.Copy(hostileSummaries, map[string]string{
		"half a note": `{"items":[{"notes":[1.5],"text":"a"}]}`, "a huge note": `{"items":[{"notes":[100000000000000000000],"text":"a"}]}`,
		"note 0": items(object{"notes": []int{0}, "text": "a"}), "a control": items(object{"notes": []int{1}, "text": "a\x00b"}),
		"no notes": items(object{"text": "All is well."}), "lines": items(object{"notes": []int{1}, "text": strings.Repeat("\n", 5000) + "a"}),
		"the secret in hex": items(object{"notes": []int{1}, "text": "746b2d39663865376436633562346133323130666665 65"}),
		"a surrogate":       `{"items":[{"notes":[1],"text":"\ud800"}]}`, "the marks": items(object{"notes": []int{1}, "text": "</note-x> <note-y n=1>"}),
	})
}
