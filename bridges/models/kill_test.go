package models_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	asdk "github.com/anthropics/anthropic-sdk-go"
	aoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/bridges/models"
	"github.com/openwop/agentmemory/bridges/models/anthropic"
	"github.com/openwop/agentmemory/commitment"
	"github.com/openwop/agentmemory/consolidate"
	"github.com/openwop/agentmemory/distill"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/sqlite"
	"github.com/openwop/agentmemory/redact"
)

// The test binary is a host that runs one pass where these variables say which, on what file, and where the model
// is.
const (
	passName = "AGENTMEMORY_MODELS_PASS"
	passFile = "AGENTMEMORY_MODELS_FILE"
	passURL  = "AGENTMEMORY_MODELS_URL"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(passName); name != "" {
		err := runPass(context.Background(), name, os.Getenv(passFile), os.Getenv(passURL), 0)
		fmt.Fprintln(os.Stderr, "the pass came to its end:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// runPass runs one pass of an engine with the model at a URL, as a process of its own would. Its clock is ahead by
// some time, by which the lease of a process that was killed has ended.
func runPass(ctx context.Context, name, file, url string, ahead time.Duration) error {
	return onFile(ctx, file, ahead, func(bank *memory.Bank) error {
		m, err := models.New(models.Config{Tries: 1,
			Model: anthropic.New(asdk.NewClient(aoption.WithBaseURL(url), aoption.WithAPIKey("test")), "claude-sonnet-4-5")})
		if err != nil {
			return err
		}
		secrets := redact.New(redact.Config{})
		ctx := models.WithRedactor(ctx, secrets)
		return bank.Pass(ctx, memory.JobConfig{ID: "pass-" + name, Tenant: "acme", Redactor: shared{secrets}}, func(job *memory.Job) error {
			switch name {
			case "consolidate":
				c, err := consolidate.New(consolidate.Config{Merger: m.Merger(), Score: 0.3})
				if err != nil {
					return err
				}
				_, err = c.Run(ctx, job, "ref", consolidate.Options{})
				return err
			case "infer":
				inferrer, err := m.Inferrer("Europe/Rome")
				if err != nil {
					return err
				}
				engine, err := commitment.New(bank, commitment.Config{Inferrer: inferrer,
					Redactor: func(context.Context, string) (memory.Redactor, error) { return shared{secrets}, nil }})
				if err != nil {
					return err
				}
				_, err = engine.Infer(ctx, job, "ref")
				return err
			}
			runner, err := distill.New(distill.Config{Summarizer: m.Summarizer()})
			if err != nil {
				return err
			}
			_, err = runner.Distill(ctx, job, "ref", distill.Options{TokenBudget: 200})
			return err
		})
	})
}

// march is when the tests take place, so that what is to be done in May lies ahead.
var march = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func onFile(ctx context.Context, file string, ahead time.Duration, f func(*memory.Bank) error) error {
	db, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	bank, err := memory.New(db.Memory(), memory.Config{Now: func() time.Time { return march.Add(ahead) }})
	if err != nil {
		return err
	}
	return f(bank)
}

// stored is what can be seen of passes in a file: all records by what they say, and the machinery that is no lease.
func stored(t *testing.T, file string) (all []string) {
	t.Helper()
	require.NoError(t, onFile(t.Context(), file, 0, func(bank *memory.Bank) error {
		return bank.Pass(t.Context(), memory.JobConfig{ID: "look", Tenant: "acme", Redactor: redact.New(redact.Config{})}, func(job *memory.Job) error {
			for rec, err := range job.History(t.Context(), "ref") {
				if err != nil {
					return err
				}
				all = append(all, fmt.Sprint(rec.Entry.ID, rec.Entry.Content, rec.Entry.Sources, rec.For, "/", rec.State))
			}
			for d, err := range job.Documents(t.Context(), "", driver.DocumentQuery{EveryRef: true}) {
				if err != nil {
					return err
				}
				if d.Key != "consolidate/pass" { // who works on the ref
					all = append(all, fmt.Sprint(d.Ref, d.Kind, d.Key, d.Of, d.Due))
				}
			}
			return nil
		})
	}))
	slices.Sort(all)
	return all
}

// texts are the parts of what is stored that have no id: of a record what it says and its state.
func texts(all []string) (parts []string) {
	for _, line := range all {
		for _, text := range []string{shift, shift2, call, "Lena is to be called on 12 May."} {
			if strings.Contains(line, text) {
				parts = append(parts, text+line[strings.LastIndexByte(line, '/'):])
			}
		}
	}
	slices.Sort(parts)
	return parts
}

func seed(t *testing.T, file string) {
	t.Helper()
	require.NoError(t, onFile(t.Context(), file, -time.Hour, func(bank *memory.Bank) error {
		return bank.Pass(t.Context(), memory.JobConfig{ID: "import", Tenant: "acme", Redactor: redact.New(redact.Config{})},
			func(job *memory.Job) error {
				for _, text := range []string{shift, shift2, call} {
					if _, err := job.Put(t.Context(), "ref", memory.Draft{Content: text}); err != nil {
						return err
					}
				}
				return nil
			})
	}))
}

// M8: a process that is killed while the model answers has done all of its pass or nothing of it,
// whether the answer was sent or not; the next one does it all, and the one after that nothing more.
func TestM8_AProcessKilledWhileTheModelAnswers(t *testing.T) {
	for _, name := range []string{"consolidate", "infer", "distill"} {
		for _, after := range []bool{false, true} { // the answer was sent
			t.Run(fmt.Sprint(name, "/answered=", after), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "memory.db")
				seed(t, file)
				before := stored(t, file)

				var child *exec.Cmd
				var kill sync.Once
				ready := make(chan struct{})
				s := serve(t, func(task models.Task, request string) string {
					<-ready
					end := func() { child.Process.Kill() }
					if after {
						go kill.Do(end) // before, in or after the mutation
						return good(task, request)
					}
					kill.Do(end)
					return doHang
				})
				self, err := os.Executable()
				require.NoError(t, err)
				child = exec.Command(self)
				child.Env = append(os.Environ(), passName+"="+name, passFile+"="+file, passURL+"="+s.url)
				require.NoError(t, child.Start())
				close(ready)
				err = child.Wait()
				require.Error(t, err)
				require.NotEmpty(t, s.requests())
				if !after {
					require.Equal(t, before, stored(t, file), "nothing half-done")
				}

				s = serve(t, good)
				const later = 24 * time.Hour
				require.NoError(t, runPass(t.Context(), name, file, s.url, later))
				done := stored(t, file)
				assert.NotEqual(t, before, done)
				asked := len(s.requests())
				require.NoError(t, runPass(t.Context(), name, file, s.url, later))
				assert.Equal(t, done, stored(t, file), "again is nothing more")
				assert.Len(t, s.requests(), asked, "and the model is not asked again")

				// It is what a process that was never killed leaves, but for ids.
				clean := filepath.Join(t.TempDir(), "memory.db")
				seed(t, clean)
				require.NoError(t, runPass(t.Context(), name, clean, s.url, later))
				want := stored(t, clean)
				assert.Len(t, done, len(want))
				assert.Equal(t, texts(want), texts(done))
			})
		}
	}
}
