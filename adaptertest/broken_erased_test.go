package adaptertest

import (
	"time"

	"github.com/openwop/agentmemory/memory/driver"
)

func eraseDefects() []defect {
	return []defect{
		{"keeps what was derived from the erased", "SR-1/late-secret", func(b *broken) {
			b.show["list"] = func(s driver.Scope, _ time.Time, found []driver.Entry) []driver.Entry {
				return append(found, b.others(s, found, func(r driver.Record) bool { return r.Erased })...)
			}
		}},
		{"writes back the text that a scrub took out", "SR-1/late-secret", changed(func(e driver.Entry) driver.Entry {
			e.Content = replaceMarker(e.Content)
			return e
		})},
		{"restores nothing", "FORGET/subject", mutated(func(_ *broken, m *driver.Mutation) { m.Restore = nil })},
	}
}

func replaceMarker(s string) string {
	if s == "the key is [REDACTED:k]" {
		return "the key is [redacted]"
	}
	return s
}

// forgetDefects are about the passes of FAULT that are not about events.
func forgetDefects() []defect {
	return []defect{
		{"retires nothing", "FAULT/merge-pass", mutated(func(_ *broken, m *driver.Mutation) { m.Retire = nil })},
		{"erases nothing", "FAULT/forget-pass", mutated(func(_ *broken, m *driver.Mutation) {
			if len(m.Erase) > 2 {
				m.Restore = nil
			}
		})},
		{"puts nothing in the place of what is erased", "SR-1/late-secret", mutated(func(_ *broken, m *driver.Mutation) {
			if len(m.Erase) > 0 {
				m.Put = nil
			}
		})},
	}
}
