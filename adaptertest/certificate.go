package adaptertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

// certificate is what lasts of a report: it is the same on every machine, with -short and
// without, and with any number of cases.
type certificate struct {
	Summary    string           `json:"summary"`
	Version    string           `json:"version"`
	Level      Level            `json:"level"`
	Durability Durability       `json:"durability"`
	Offers     []Offer          `json:"offers"`
	NotOffered map[Offer]string `json:"notOffered"`
	Remarks    []string         `json:"remarks"`
	Laws       []certified      `json:"laws"`
}

// certified is what a certificate says of a law.
type certified struct {
	Name   string `json:"name"`
	Number string `json:"number"`
	Says   string `json:"says"`
	Status Status `json:"status"`
	// Without are the abilities for lack of which some of its cases were not tried.
	Without []string `json:"without,omitempty"`
}

func (r *Report) certificate() certificate {
	c := certificate{
		Version: r.Version, Level: r.Level, Durability: r.Durability,
		Offers: r.Offers, NotOffered: r.NotOffered, Remarks: r.Remarks,
	}
	count := map[Status]int{}
	for _, l := range r.Laws {
		k := certified{Name: l.Name, Number: l.Number, Says: l.Says, Status: l.Status}
		for _, tried := range l.Cases {
			if lack := string(tried.missing); lack != "" && !slices.Contains(k.Without, lack) {
				k.Without = append(k.Without, lack)
			}
		}
		slices.Sort(k.Without)
		c.Laws = append(c.Laws, k)
		count[l.Status]++
	}
	c.Summary = fmt.Sprintf("agentmemory %s: step %s; %d laws proven, %d broken, %d not offered; %s",
		r.Version, r.Level, count[Proven], count[Broken], count[NotOffered], r.Durability)
	return c
}

// Certificate is the report without what changes from run to run, to be kept and shown: as
// text, of which the first line is a summary, and as JSON. It lists laws and not cases, and
// says of each what was not proven.
func (r *Report) Certificate() (text, data string) {
	c := r.certificate()
	var b strings.Builder
	b.WriteString(c.Summary + "\n\n")
	for _, l := range c.Laws {
		fmt.Fprintf(&b, "%s: %s (%s): %s\n", l.Status, l.Name, l.Number, l.Says)
		if len(l.Without) > 0 {
			fmt.Fprintf(&b, "    not tried: what needs %s\n", strings.Join(l.Without, ", "))
		}
	}
	b.WriteByte('\n')
	for _, o := range c.Offers {
		fmt.Fprintf(&b, "offered: %s\n", o)
	}
	for _, o := range slices.Sorted(maps.Keys(c.NotOffered)) {
		fmt.Fprintf(&b, "not offered: %s: %s\n", o, c.NotOffered[o])
	}
	for _, remark := range c.Remarks {
		fmt.Fprintf(&b, "remark: %s\n", remark)
	}
	form, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		panic(err) // there is nothing in it that could fail
	}
	return b.String(), string(form) + "\n"
}

// whole reports whether all cases ran.
func (r *Report) whole() bool {
	ran, all := r.cases()
	return ran >= all
}

// cases counts the cases that ran, and all there are.
func (r *Report) cases() (ran, all int) {
	for _, l := range r.Laws {
		ran += len(l.Cases)
	}
	for _, l := range laws() {
		all += len(l.cases)
	}
	return ran, all
}

// certify compares the certificate of a whole run with the files at path, or writes them.
func (r *Report) certify(path string) error {
	text, data := r.Certificate()
	for _, form := range []struct{ file, want string }{{path + ".txt", text}, {path + ".json", data}} {
		if os.Getenv("AGENTMEMORY_CERTIFY") != "" {
			if err := os.WriteFile(form.file, []byte(form.want), 0o644); err != nil {
				return err
			}
			continue
		}
		kept, err := os.ReadFile(form.file)
		if errors.Is(err, fs.ErrNotExist) {
			return errors.New(form.file + " is not there yet: write it by the same test with AGENTMEMORY_CERTIFY=1")
		}
		if err != nil || string(kept) != form.want {
			return errors.New(form.file + " is not the certificate of this run: look at what has changed, and write it by the same test with AGENTMEMORY_CERTIFY=1")
		}
	}
	return nil
}
