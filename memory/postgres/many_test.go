package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

const manyWriters = 32

// attempt is a mutation of one of many writers, with what the store said of it. It puts an entry
// of its own, by which the journal of a version names it.
type attempt struct {
	live, retire, put string // ids of entries that all writers share
	content           string // of put
	swap              string // the key of a document
	rev               int64  // that it expects

	version, after int64 // that it made; the newest one that was acknowledged before it began
	until          int64 // the newest one when it was refused
	made           int64 // the revision of the document
	err            error
}

// unknownRev is what a model has for a revision that was not told.
const unknownRev = -1

// memoryModel is what the shared entries and documents are after a version.
type memoryModel struct {
	content map[string]string
	retired map[string]bool
	revs    map[string]int64 // unknownRev: of a mutation whose outcome is unknown
}

func (m *memoryModel) live(id string) bool { return m.content[id] != "" && !m.retired[id] }

// allows reports whether a mutation holds or, if that is not known, may hold.
func (m *memoryModel) allows(a *attempt) bool {
	return m.holds(a, a.swap == "" || m.revs[a.swap] == a.rev || m.revs[a.swap] == unknownRev)
}

// refuses reports whether it does not hold or, if that is not known, may not hold.
func (m *memoryModel) refuses(a *attempt) bool {
	return !m.holds(a, a.swap == "" || m.revs[a.swap] == a.rev)
}

func (m *memoryModel) holds(a *attempt, swap bool) bool {
	there := m.content[a.put]
	return swap && (a.live == "" || m.live(a.live)) && (a.put == "" || there == "" || there == a.content) &&
		(a.retire == "" || m.live(a.retire))
}

func (m *memoryModel) apply(a *attempt) {
	if a.put != "" {
		m.content[a.put] = a.content
	}
	if a.retire != "" {
		m.retired[a.retire] = true
	}
	if a.swap != "" {
		if m.revs[a.swap] = a.made; a.err != nil {
			m.revs[a.swap] = unknownRev
		}
	}
}

// crowd is many writers of one tenant.
type crowd struct {
	st     *Store
	newest atomic.Int64
	revs   [4]atomic.Int64
	mu     sync.Mutex
	done   []*attempt
}

// mutate tries a random mutation, under a context that may end.
func (c *crowd) mutate(ctx context.Context, random *rand.Rand) error {
	shared := func() string { return fmt.Sprint("e", random.IntN(12)) }
	a := &attempt{after: c.newest.Load()}
	key := random.IntN(len(c.revs))
	c.mu.Lock()
	number := len(c.done)
	c.done = append(c.done, a)
	c.mu.Unlock()
	at := func(id string) driver.Located { return driver.Located{Scope: home, ID: id} }
	m := driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry(fmt.Sprint("own-", number))}}}
	switch random.IntN(5) {
	case 0:
		a.live = shared()
		m.Live = []driver.Located{at(a.live)}
	case 1:
		a.retire = shared()
		m.Retire = []driver.Retirement{{Located: at(a.retire), State: driver.Deleted}}
	case 2:
		a.put, a.content = shared(), fmt.Sprint("content ", random.IntN(2))
		e := entry(a.put)
		e.Content = a.content
		m.Put = append(m.Put, driver.Placed{Scope: home, Entry: e})
	case 3:
		a.swap, a.rev = fmt.Sprint("d", key), c.revs[key].Load()
		m.Documents = []driver.DocumentSwap{{Document: driver.Document{Scope: home, Class: driver.HostText, Kind: "k", Key: a.swap, Rev: a.rev}}}
	}
	if random.IntN(5) == 0 {
		brief, end := context.WithTimeout(ctx, time.Duration(random.IntN(5000))*time.Microsecond)
		defer end()
		ctx = brief
	}
	done, err := c.st.Apply(ctx, home.Tenant, m)
	if a.err = err; err == nil {
		n, _, err := done.Version.Parse()
		if err != nil {
			return err
		}
		a.version = int64(n)
		for old := c.newest.Load(); old < a.version && !c.newest.CompareAndSwap(old, a.version); old = c.newest.Load() {
		}
		if a.swap != "" {
			a.made = done.Revs[0]
			c.revs[key].CompareAndSwap(a.rev, a.made)
		}
	}
	if !errors.Is(err, driver.ErrConflict) {
		return nil
	}
	if a.swap != "" { // it may be of a mutation whose outcome is unknown
		for d, err := range c.st.Documents(context.WithoutCancel(ctx), driver.DocumentQuery{Tenant: home.Tenant, Ref: home.Ref, Kind: "k", Key: a.swap}) {
			if err == nil {
				c.revs[key].Store(d.Rev)
			}
		}
	}
	v, err := c.st.Version(context.WithoutCancel(ctx), home.Tenant)
	if err != nil { // the server is dead: any later version may have refused it
		a.until = 1 << 62
		return nil
	}
	n, _, err := v.Parse()
	a.until = int64(n)
	return err
}

// ownEntry is the id of an entry of a mutation's own.
var ownEntry = regexp.MustCompile(`own-(\d+)`)

// agrees compares what the writers were told with what became of the tables, version by version.
func (c *crowd) agrees(t *testing.T, seed uint64, pool *pgxpool.Pool) {
	type made struct {
		*attempt
		transaction string
	}
	history := []made{{}}
	rows, err := pool.Query(t.Context(), `SELECT changes, xmin::text FROM agentmemory.versions WHERE tenant = $1 ORDER BY version`, []byte(home.Tenant))
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var journal []byte
		var transaction string
		require.NoError(t, rows.Scan(&journal, &transaction))
		number := ownEntry.FindSubmatch(journal)
		require.NotNil(t, number, "seed %d: a version of no mutation", seed)
		i, err := strconv.Atoi(string(number[1]))
		require.NoError(t, err)
		history = append(history, made{c.done[i], transaction})
	}
	require.NoError(t, rows.Err())

	// Each was made once, as it was told, and held when it was made.
	known := map[string]error{} // what those that share a transaction were told
	together := 0
	refusedAt := map[*attempt]bool{}
	told := map[*attempt]int64{}
	model := memoryModel{map[string]string{}, map[string]bool{}, map[string]int64{}}
	for n := int64(0); n < int64(len(history)); n++ {
		if n > 0 {
			h := history[n]
			require.Zero(t, told[h.attempt], "seed %d: version %d was made before", seed, n)
			told[h.attempt] = n
			if h.err == nil {
				require.Equal(t, n, h.version, "seed %d", seed)
			} else {
				require.ErrorIs(t, h.err, ErrOutcomeUnknown, "seed %d: version %d", seed, n)
			}
			require.True(t, model.allows(h.attempt), "seed %d: version %d should have been refused: %+v", seed, n, *h.attempt)
			model.apply(h.attempt)
			if first, shares := known[h.transaction]; shares {
				together++
				require.Equal(t, first == nil, h.err == nil, "seed %d: an unknown outcome beside a known one", seed)
			}
			known[h.transaction] = h.err
		}
		for _, a := range c.done {
			if errors.Is(a.err, driver.ErrConflict) && a.after <= n && n <= a.until && model.refuses(a) {
				refusedAt[a] = true
			}
		}
	}
	counts := map[string]int{}
	for _, a := range c.done {
		switch {
		case a.err == nil:
			counts["made"]++
			require.NotZero(t, told[a], "seed %d: an acknowledged mutation is not there", seed)
		case errors.Is(a.err, driver.ErrConflict):
			counts["refused"]++
			require.True(t, refusedAt[a], "seed %d: refused though it held all the time: %+v", seed, *a)
		case errors.Is(a.err, ErrOutcomeUnknown):
			counts["unknown"]++
		default:
			counts["failed"]++
		}
	}
	t.Logf("%v, %d of %d transactions spared", counts, together, len(history))
	require.NotZero(t, counts["refused"])
	require.Greater(t, together, len(history)/4, "seed %d: hardly any share a transaction", seed)
}

// work has all writers try so many mutations each.
func (c *crowd) work(t *testing.T, seed uint64, each int, pause func()) {
	var all sync.WaitGroup
	for i := range manyWriters {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			for range each {
				if err := c.mutate(t.Context(), random); err != nil {
					t.Error(seed, err)
				}
				pause()
			}
		})
	}
	all.Wait()
}

// M8: many writers of a tenant share transactions, and each is told what became of its own
// mutation: an order of them all explains every answer.
func TestM8_ManyWriters(t *testing.T) {
	for seed := range uint64(3) {
		db := openDB(t, Options{})
		c := &crowd{st: db.Memory()}
		c.work(t, seed, 20, func() {})
		c.agrees(t, seed, db.pool)
	}
}

// M8: when the server is killed, the outcome is unknown for all of a transaction, and for no other.
func TestM8_ManyWritersOnAKilledServer(t *testing.T) {
	const seed = 11
	own := ownCluster(t)
	pool, err := pgxpool.New(t.Context(), own.DSN())
	require.NoError(t, err)
	defer pool.Close()
	db, err := Open(t.Context(), pool, Options{})
	require.NoError(t, err)
	c := &crowd{st: db.Memory()}
	var tries, turns atomic.Int64
	var mu sync.RWMutex
	c.work(t, seed, 40, func() {
		mu.RLock() // waits while the server is down
		n := tries.Add(1)
		mu.RUnlock()
		if n%(manyWriters*10) == 0 && n < manyWriters*40 {
			mu.Lock()
			defer mu.Unlock()
			turns.Add(1)
			if err := errors.Join(own.Kill(), own.Restart(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
	require.EqualValues(t, 3, turns.Load())
	c.agrees(t, seed, pool)
}

// A server that falls silent under a shared transaction holds none of its calls for longer than the
// first of them that no longer waits, and what is called later goes on.
func TestErrOutcomeUnknown_SharedTransaction(t *testing.T) {
	defer func(p time.Duration) { patience = p }(patience)
	patience = 50 * time.Millisecond
	db, cut := openCut(t, "cache_statement")
	st, ctx := db.Memory(), t.Context()
	require.NoError(t, st.Put(ctx, home, entry("first"))) // its statements are prepared
	other := onPool(db, connect(t, db.pool.Config().ConnString()))
	defer other.pool.Close()
	lock, err := other.pool.Begin(ctx)
	require.NoError(t, err)
	_, err = lock.Exec(ctx, lockTenant, []byte(home.Tenant))
	require.NoError(t, err)

	put := func(ctx context.Context, id string) <-chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry(id)}}})
			answer <- err
		}()
		return answer
	}
	leads := put(ctx, "leads")
	until(t, other, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
	brief, end := context.WithCancel(ctx)
	one, two := put(brief, "one"), put(ctx, "two")
	require.Eventually(t, twoWait, time.Minute, time.Millisecond)
	cut.hang.Store(1) // the next message is theirs
	require.NoError(t, lock.Rollback(ctx))
	require.NoError(t, <-leads)
	require.Eventually(t, func() bool { return cut.hung.Load() != nil }, time.Minute, time.Millisecond)
	end()
	require.ErrorIs(t, <-one, ErrOutcomeUnknown)
	require.ErrorIs(t, <-two, ErrOutcomeUnknown)
	require.NoError(t, cut.hung.Load().Close()) // as the system does after some minutes
	require.NoError(t, st.Put(ctx, home, entry("later")))
	require.Equal(t, []string{"leads", "later", "first"}, list(t, st, home))
}

// twoWait reports whether two calls wait in the queue.
func twoWait() bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("[select]:\ngithub.com/openwop/agentmemory/memory/internal/groupcommit.")) == 2
}

// M8: of a mutation that is refused nothing stays, also of a large document, which is written before
// it is judged, and if others that wait are committed.
func TestM8_ARefusedMutationLeavesNothing(t *testing.T) {
	db := openDB(t, Options{})
	st, ctx := db.Memory(), t.Context()
	lock, err := db.pool.Begin(ctx)
	require.NoError(t, err)
	require.NoError(t, st.Put(ctx, home, entry("first")))
	_, err = lock.Exec(ctx, lockTenant, []byte(home.Tenant))
	require.NoError(t, err)
	apply := func(id string, swaps ...driver.DocumentSwap) <-chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := st.Apply(ctx, home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry(id)}}, Documents: swaps})
			answer <- err
		}()
		return answer
	}
	leads := apply("leads")
	until(t, db, `SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`)
	large := driver.Document{Scope: home, Class: driver.Content, Kind: "k", Key: "large", Of: []string{"two"}, Rev: 7, Value: make([]byte, stagedBytes)}
	one, two := apply("one"), apply("two", driver.DocumentSwap{Document: large})
	require.Eventually(t, twoWait, time.Minute, time.Millisecond)
	require.NoError(t, lock.Rollback(ctx))
	require.NoError(t, <-leads)
	require.NoError(t, <-one)
	require.ErrorIs(t, <-two, driver.ErrConflict)
	for d, err := range st.Documents(ctx, driver.DocumentQuery{Tenant: home.Tenant, EveryRef: true, Bare: true}) {
		require.NoError(t, err)
		t.Errorf("a document is there of the kind %q", d.Kind)
	}
}
