package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/openwop/agentmemory/memory/driver"
)

// located is an entry's place in the tenant's memory.
type located struct {
	Ref string `json:"ref"`
	ID  string `json:"id"`
}

func locatedOf(all []driver.Located) []located {
	places := []located{}
	for _, l := range all {
		places = append(places, located{l.Ref, l.ID})
	}
	return places
}

func (p *program) forget(ctx context.Context, at *session, subject string, yes bool) error {
	if !yes && !p.asks {
		return misuse("no terminal is there to ask on: say -yes")
	}
	if !yes {
		agreed, err := p.confirm(ctx, at, subject)
		if err != nil {
			return err
		}
		if !agreed {
			return advice("nothing was erased")
		}
	}
	gone, err := at.bank.Forget(ctx, p.tenant, subject)
	if err != nil {
		return fmt.Errorf("not everything was erased: %w; the same command goes on there", err)
	}
	if p.json {
		return printJSON(p.out, map[string]any{"erased": locatedOf(gone.Erased), "restored": locatedOf(gone.Restored), "documents": gone.Documents})
	}
	fmt.Fprintf(p.out, "%s erased, %s of others restored, %s of host text removed\n", count(len(gone.Erased), "entry", "entries"),
		count(len(gone.Restored), "entry", "entries"), count(gone.Documents, "document", "documents"))
	for _, l := range gone.Erased {
		fmt.Fprintf(p.out, "erased %q in %q\n", l.ID, l.Ref)
	}
	for _, l := range gone.Restored {
		fmt.Fprintf(p.out, "restored %q in %q\n", l.ID, l.Ref)
	}
	return nil
}

// confirm tells what would be erased and reports whether the answer is yes.
func (p *program) confirm(ctx context.Context, at *session, subject string) (bool, error) {
	entries, documents := 0, 0
	for x, err := range at.bank.Export(ctx, p.tenant, subject) {
		switch {
		case err != nil:
			return false, err
		case x.Record != nil:
			entries++
		default:
			documents++
		}
	}
	fmt.Fprintf(p.err, "Erase %s and %s of tenant %q about %q for good? (yes/no) ",
		count(entries, "entry", "entries"), count(documents, "document", "documents"), p.tenant, subject)
	answer, _ := bufio.NewReader(p.in).ReadString('\n')
	return strings.TrimSpace(answer) == "yes", nil
}
