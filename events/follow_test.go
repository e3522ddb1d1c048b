package events

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// E3: for any page a log returns just what a model has there.
func TestE3_Read(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 7))
	log, model := new(Log), modelLog(nil)
	for i := range 60 {
		batch := someBatch(rng)
		for range rng.IntN(4) {
			n := rng.IntN(9)
			batch = append(batch, record(fmt.Sprint("x", i, "-", n), "t0", "r0", full[n%len(full)]))
		}
		if err := Emit(t.Context(), log, batch...); err != nil {
			t.Fatal(err)
		}
		model.emit(batch)
		for range 20 {
			tenant, run := fmt.Sprint("t", rng.IntN(3)), fmt.Sprint("r", rng.IntN(4))
			from, limit := int64(rng.IntN(40)-2), rng.IntN(12)-1
			want := model.events(tenant, run)
			want = want[min(max(int(from), 0), len(want)):]
			want = append([]RunEvent(nil), want[:min(len(want), PageSize(limit))]...)
			got, err := log.Read(t.Context(), tenant, run, from, limit)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, fmt.Sprintf("%s %s from %d, %d", tenant, run, from, limit), got, want)
		}
	}
}

// Follow yields what is there, then what comes, each once and in order, and ends with its
// context, its loop, or the log.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log Log
		emit := func(n int) {
			for i := range n {
				if err := Emit(t.Context(), &log, record(fmt.Sprint(time.Now().UnixNano(), i), "t", "r", full[0])); err != nil {
					t.Error(err)
				}
			}
		}
		emit(250)
		go func() {
			for range 5 {
				time.Sleep(time.Second)
				emit(3)
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Millisecond) // between two reads
		defer cancel()
		next := int64(10)
		var last error
		for ev, err := range Follow(ctx, &log, "t", "r", next, 30*time.Millisecond) {
			if last = err; err != nil {
				break
			}
			equal(t, "sequence", ev.Sequence, next)
			next++
		}
		equal(t, "events", next, int64(265))
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Fatal(last)
		}
		for ev := range Follow(t.Context(), &log, "t", "r", 200, 0) {
			if ev.Sequence == 220 {
				break
			}
		}
		for _, err := range Follow(ctx, &log, "t", "none", 0, 0) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
	})
}
