package commitment_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/inmem"
)

// onlyAdapter is a store with the four operations only.
type onlyAdapter struct{ driver.Adapter }

// What a host's author does wrong is named, with what to do.
func TestM2_MistakesAreNamed(t *testing.T) {
	bank, err := memory.New(inmem.New(), memory.Config{Now: newClock().Now})
	require.NoError(t, err)
	small, err := memory.New(onlyAdapter{inmem.New()}, memory.Config{})
	require.NoError(t, err)
	secrets := func(context.Context, string) (memory.Redactor, error) { return vault{}, nil }
	open := func(b *memory.Bank, cfg commitment.Config) error { _, err := commitment.New(b, cfg); return err }
	engine, err := commitment.New(bank, commitment.Config{Redactor: secrets})
	require.NoError(t, err)
	job := func(secret string) *memory.Job {
		j, err := bank.Background(memory.JobConfig{ID: "p", Tenant: "acme", Redactor: vault{secret: secret}})
		require.NoError(t, err)
		return j
	}
	arm := func(a commitment.Arm) error {
		_, err := engine.Arm(ctx, job(""), commitment.Source{Ref: "m"}, a)
		return err
	}
	_, nobody := engine.Infer(ctx, nil, "m")
	_, unarmed := engine.Arm(ctx, nil, commitment.Source{Ref: "m"}, commitment.Arm{Every: time.Hour})
	_, unobserved := engine.Observe(ctx, commitment.Observation{Tenant: "acme"})
	_, secret := engine.Arm(ctx, job("hush-hush-hush"), commitment.Source{Ref: "m-hush-hush-hush"}, commitment.Arm{Every: time.Hour})
	_, unknown := engine.Cancel(ctx, "acme", "cmt_x")
	_, nowhere := engine.Cancel(ctx, "", "cmt_x")
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"no bank": {open(nil, commitment.Config{Redactor: secrets}), memory.ErrValidation,
			"commitment: the bank is nil"},
		"no redactor": {open(bank, commitment.Config{}), memory.ErrValidation,
			"commitment: Config.Redactor is nil: it opens a tenant's secrets for each pass, and gives redact.New if there are none"},
		"a limit below zero": {open(bank, commitment.Config{Redactor: secrets, GiveUpAfter: -1}), memory.ErrValidation,
			"commitment: Grace, Horizon, Lease, Backoff, GiveUpAfter or Retention of the Config is below zero: 0 means the default"},
		"an unknown policy": {open(bank, commitment.Config{Redactor: secrets, Missed: "all"}), memory.ErrValidation,
			"commitment: Config.Missed is neither FireOnce nor Skip nor empty"},
		"a small store": {open(small, commitment.Config{Redactor: secrets}), memory.ErrNotProvided,
			"commitment: commitments need a bank over a store that is a driver.Transactor and a driver.Scheduler, and not read-only"},
		"nothing to wait for": {arm(commitment.Arm{}), memory.ErrValidation,
			"commitment: Arm has none or several of At, Every, Spec and Predicate: set one, or At beside Every"},
		"two things to wait for": {arm(commitment.Arm{Every: time.Hour, Spec: "10:00"}), memory.ErrValidation,
			"commitment: Arm has none or several of At, Every, Spec and Predicate: set one, or At beside Every"},
		"the past": {arm(commitment.Arm{At: epoch.Add(-time.Hour)}), memory.ErrValidation,
			"commitment: Arm.At is not in the future of the bank's clock"},
		"too soon": {arm(commitment.Arm{Every: time.Millisecond}), memory.ErrValidation,
			"commitment: Arm.Every is below a second or not in whole milliseconds"},
		"a schedule without a reader": {arm(commitment.Arm{Spec: "10:00"}), memory.ErrValidation,
			"commitment: Config.Schedule is nil: it reads Arm.Spec, such as dates.Cron of bridges/dates"},
		"a predicate of two words": {arm(commitment.Arm{Predicate: "ticket closed"}), memory.ErrValidation,
			"commitment: Arm.Predicate has other characters than letters, digits and . _ : / -, or more than 128"},
		"a predicate that nobody knows": {arm(commitment.Arm{Predicate: "ticket.closed"}), memory.ErrValidation,
			"commitment: the host has not registered the predicate: Config.Predicate is nil or says no"},
		"a ref that is a secret": {secret, memory.ErrSecretLeakage,
			"commitment: Source.Ref holds a secret"},
		"an observation of nothing": {unobserved, memory.ErrValidation,
			"commitment: Observation.Predicate is empty, has other characters than letters, digits and . _ : / -, or more than 128"},
		"no job to infer": {nobody, memory.ErrValidation,
			"commitment: the job is nil: open one by Bank.Background or Bank.Pass"},
		"no job to arm": {unarmed, memory.ErrValidation,
			"commitment: the job is nil: open one by Bank.Background or Bank.Pass"},
		"an unknown commitment": {unknown, memory.ErrNotFound,
			"commitment: the tenant has no such commitment"},
		"a commitment of nobody": {nowhere, memory.ErrValidation,
			"memory: invalid input: the tenant is empty: take it from the caller's authentication"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
}
