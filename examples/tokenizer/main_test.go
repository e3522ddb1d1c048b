package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openwop/agentmemory/distill"
)

const notes = "Lena prefers e-mail.\nThe invoice of 3 March is paid.\nLena prefers e-mail.\n"

func TestExactTokenizer(t *testing.T) {
	var out bytes.Buffer
	err := run(context.Background(), strings.NewReader(notes), &out, 1)
	var over *distill.BudgetError
	if !errors.As(err, &over) {
		t.Fatal(err)
	}
	if err := run(context.Background(), strings.NewReader(notes), &out, over.MinimumRequired); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"3 lines", "by o200k_base", "Lena prefers e-mail."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
