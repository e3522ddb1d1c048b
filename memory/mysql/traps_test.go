package mysql

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
)

// with adds settings of a connection to a data source name.
func with(dsn string, settings ...string) string {
	q := url.Values{}
	for i := 0; i < len(settings); i += 2 {
		q.Set(settings[i], settings[i+1])
	}
	sep := "?"
	if strings.Contains(dsn, "?") {
		sep = "&"
	}
	return dsn + sep + q.Encode()
}

// opened opens a database for one test.
func opened(t testing.TB, dsn string) *DB {
	db, err := Open(t.Context(), dsn, Options{})
	require.NoError(t, err, "%v", errors.Unwrap(err))
	t.Cleanup(func() { db.Close() })
	return db
}

// run runs statements beside the store.
func run(t testing.TB, dsn string, statements ...string) {
	pool, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer pool.Close()
	for _, s := range statements {
		_, err := pool.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

func swapOf(key string, rev int64, act driver.Act) driver.Mutation {
	d := driver.Document{Scope: driver.Scope{Tenant: home.Tenant}, Kind: "lease", Key: key, Rev: rev, Value: []byte("v")}
	return driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: d, Act: act}}}
}

func apply(t testing.TB, st *Store, m driver.Mutation) driver.Applied {
	done, err := st.Apply(t.Context(), home.Tenant, m)
	require.NoError(t, err, "%v", errors.Unwrap(err))
	return done
}

// Revisions are counted by the store. A server that gives keys of its own with strides has no part in
// them, and none comes again after a removal, a drop of the tenant, or in another process.
func TestK2_RevisionsAreOurs(t *testing.T) {
	dsn := with(freshDatabase(t), "auto_increment_increment", "10", "auto_increment_offset", "3")
	st := opened(t, dsn).Memory()
	rev := int64(0)
	for range 3 {
		rev++
		require.Equal(t, rev, apply(t, st, swapOf("a", 0, driver.Set)).Revs[0])
		rev++
		require.Equal(t, rev, apply(t, st, swapOf("a", rev-1, driver.Set)).Revs[0])
		require.Zero(t, apply(t, st, swapOf("a", rev, driver.Remove)).Revs[0])
		more, err := st.DropTenant(t.Context(), home.Tenant, 10)
		require.NoError(t, err)
		require.False(t, more)
		st = opened(t, dsn).Memory()
	}
}

// Events wait in the order of their commits, also if their numbers have strides.
func TestE3_StridesKeepTheOrder(t *testing.T) {
	st := opened(t, with(freshDatabase(t), "auto_increment_increment", "10", "auto_increment_offset", "3")).Memory()
	var want []string
	for i := range 20 {
		id := fmt.Sprintf("evt_%d", 100-i)
		want = append(want, id)
		apply(t, st, driver.Mutation{At: now, Events: []events.Record{eventOf("run", id)}})
	}
	require.Equal(t, want, waiting(t, st))
}

func eventOf(run, id string) events.Record {
	return events.Record{Tenant: home.Tenant, RunID: run, ID: id, Time: now,
		Payload: events.HostPayload{Type: "node.completed", JSON: []byte(`{"nodeId":"n"}`)}}
}

func waiting(t testing.TB, st *Store) (ids []string) {
	for r, err := range st.Undelivered(t.Context(), "", "") {
		require.NoError(t, err)
		ids = append(ids, r.ID)
	}
	return ids
}

// The database's collation ignores cases, and trailing spaces as all but one do. Names are bytes.
func TestM1_NamesAreBytes(t *testing.T) {
	st := openDB(t).Memory()
	names := []string{"acme", "acme ", "acme  ", "ACME", "acmé", "acme\u0301", "acm", "acme%", "acme'", `acme\`, `acme"`, "acme?", "acme$1", "acme;"}
	for _, tenant := range names {
		for _, ref := range names {
			for _, id := range names {
				e := driver.Entry{ID: id, Content: tenant + ref + id, CreatedAt: now}
				require.NoError(t, st.Put(t.Context(), driver.Scope{Tenant: tenant, Ref: ref}, e))
			}
		}
	}
	for _, tenant := range names {
		for _, ref := range names {
			s := driver.Scope{Tenant: tenant, Ref: ref}
			require.Len(t, list(t, st, s), len(names))
			for _, id := range names {
				e, err := st.Get(t.Context(), s, id, now)
				require.NoError(t, err)
				require.Equal(t, tenant+ref+id, e.Content)
			}
		}
	}
	n := 0
	for s, err := range st.Scopes(t.Context(), driver.Scope{}) {
		require.NoError(t, err)
		require.Contains(t, names, s.Tenant)
		n++
	}
	require.Equal(t, len(names)*len(names), n)
}

// A server that takes no packet as large as a document is refused, with what to do. One that does takes
// the largest documents, of any bytes.
func TestM8_LargestDocuments(t *testing.T) {
	s := ownServer(t, "--max-allowed-packet=16M", "--loose-innodb-log-file-size=128M")
	require.NoError(t, s.admin(t.Context(), "CREATE DATABASE large"))
	_, err := Open(t.Context(), s.in("large"), Options{})
	require.ErrorIs(t, err, driver.ErrValidation)
	require.EqualError(t, err, "memory: invalid input: max_allowed_packet of the server is 16777216: set it to 67108864 or more, which documents need")
	require.NoError(t, s.admin(t.Context(), "SET GLOBAL max_allowed_packet = 67108864"))
	st := opened(t, s.in("large")).Memory()
	noise := make([]byte, driver.MaxDocumentBytes)
	rand.Read(noise)
	values := map[string][]byte{"quotes": bytes.Repeat([]byte{'\''}, driver.MaxDocumentBytes), "noise": noise}
	if testing.Short() {
		delete(values, "noise")
	}
	for key, value := range values {
		d := driver.Document{Scope: driver.Scope{Tenant: home.Tenant}, Kind: "lease", Key: key, Value: value}
		apply(t, st, driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: d}}})
		d.Class, d.Key = driver.HostText, key+" as a file"
		apply(t, st, driver.Mutation{At: now, Documents: []driver.DocumentSwap{{Document: d}}})
		for _, key := range []string{key, key + " as a file"} {
			n := 0
			for d, err := range st.Documents(t.Context(), driver.DocumentQuery{Tenant: home.Tenant, Kind: "lease", Key: key}) {
				require.NoError(t, err)
				require.True(t, bytes.Equal(value, d.Value), key)
				n++
			}
			require.Equal(t, 1, n, key)
		}
	}
}

// A binary log of statements cannot hold our transactions, and is refused at once.
func TestM8_BinaryLogOfStatements(t *testing.T) {
	s := ownServer(t, "--log-bin=binlog", "--binlog-format=STATEMENT")
	require.NoError(t, s.admin(t.Context(), "CREATE DATABASE logged"))
	_, err := Open(t.Context(), s.in("logged"), Options{})
	require.EqualError(t, err, "memory: invalid input: binlog_format of the server is STATEMENT, which cannot hold transactions that are READ COMMITTED: set it to ROW or MIXED")
}

// hostile is a server whose defaults are all wrong for us.
func hostile(t testing.TB) string {
	s := ownServer(t, "--sql-mode=NO_BACKSLASH_ESCAPES,ANSI,PAD_CHAR_TO_FULL_LENGTH,NO_AUTO_VALUE_ON_ZERO", "--transaction-isolation=READ-UNCOMMITTED",
		"--default-time-zone=+05:30", "--auto-increment-increment=5", "--character-set-server=latin1", "--collation-server=latin1_swedish_ci",
		"--innodb-flush-log-at-trx-commit=2", "--log-bin=binlog", "--sync-binlog=0", "--autocommit=0")
	require.NoError(t, s.admin(t.Context(), "CREATE DATABASE hostile"))
	return s.in("hostile")
}

// What a server has been set to changes nothing of what is stored, and what it puts at risk is told.
func TestM8_SettingsOfTheServer(t *testing.T) {
	db := opened(t, hostile(t))
	st := db.Memory()
	text := "it's \"quoted\" -- and \\escaped\\ # with \x00 NUL, \u2028 and 🐘 ? $1 /* */ ; \\'"
	e := driver.Entry{ID: `mem_'\`, Content: text, Tags: []string{text, `\`}, Subjects: []string{`a'b\`}, CreatedAt: now}
	require.NoError(t, st.Put(t.Context(), home, e))
	got, err := st.Get(t.Context(), home, e.ID, now)
	require.NoError(t, err)
	require.True(t, e.Equal(&got), "%+v", got)
	found, err := st.List(t.Context(), home, driver.Query{At: now, Tags: []string{text}, Subject: `a'b\`})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, []string{
		"innodb_flush_log_at_trx_commit is 2: what was acknowledged in the last second may be lost with the power, or with the server; set it to 1",
		"sync_binlog is 0: what was acknowledged may be missing in the binary log after a loss of power; set it to 1",
	}, db.Risks())
	require.Empty(t, openDB(t).Risks())
}

// Nothing that was not committed is read, though the server's default would show it; and writers of one
// tenant that do not share a process follow each other.
func TestM7_IsolationIsOurs(t *testing.T) {
	dsn := hostile(t)
	st := opened(t, dsn).Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("0")))
	pool, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer pool.Close()
	tx, err := pool.Begin()
	require.NoError(t, err)
	_, err = tx.Exec(`UPDATE agentmemory_entries SET died = 0`)
	require.NoError(t, err)
	require.Len(t, list(t, st, home), 1)
	require.NoError(t, tx.Rollback())

	var all sync.WaitGroup
	var mu sync.Mutex
	versions := map[driver.Version]bool{}
	for w := range 4 {
		other := opened(t, dsn).Memory()
		all.Go(func() {
			for i := range 25 {
				done, err := other.Apply(context.Background(), home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry(fmt.Sprint(w, "-", i))}}})
				mu.Lock()
				if err != nil || versions[done.Version] {
					t.Errorf("writer %d: %v %v", w, done.Version, err)
				}
				versions[done.Version] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Len(t, versions, 100)
	last, err := st.Version(t.Context(), home.Tenant)
	require.NoError(t, err)
	number, _, err := last.Parse()
	require.NoError(t, err)
	require.Equal(t, uint64(101), number)
}

// A claim of a run holds among processes in different time zones.
func TestE3_ClaimsKnowNoTimeZone(t *testing.T) {
	dsn := freshDatabase(t)
	east, west := opened(t, with(dsn, "time_zone", "'+13:00'")).Memory(), opened(t, with(dsn, "time_zone", "'-11:00'")).Memory()
	apply(t, east, driver.Mutation{At: now, Events: []events.Record{eventOf("run", "evt_1")}})
	require.Len(t, waiting(t, east), 1)
	require.Empty(t, waiting(t, west))
	require.NoError(t, east.db.Close())
	require.Len(t, waiting(t, west), 1)
}

// A script of the schema that ended behind any of its statements goes on with the next Open.
func TestM8_SchemaGoesOn(t *testing.T) {
	for done := range len(migrations[0]) + 1 {
		dsn := emptyDatabase(t)
		run(t, dsn, migrations[0][:done]...)
		st := opened(t, dsn).Memory()
		require.NoError(t, st.Put(t.Context(), home, entry("1")))
		require.Len(t, list(t, st, home), 1)
	}
}

// Of several processes that open an empty database one makes the schema, and a newer one is refused, by
// what was open before too.
func TestM8_SchemaOfOthers(t *testing.T) {
	dsn := emptyDatabase(t)
	var all sync.WaitGroup
	var opens [4]*DB
	for i := range opens {
		all.Go(func() { opens[i], _ = Open(context.Background(), dsn, Options{}) })
	}
	all.Wait()
	for _, db := range opens {
		require.NotNil(t, db)
		require.Equal(t, opens[0].incarnation, db.incarnation)
		defer db.Close()
	}
	st := opens[0].Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("1")))
	run(t, dsn, `UPDATE agentmemory_meta SET number = number + 1`)
	require.ErrorIs(t, st.Put(t.Context(), home, entry("2")), ErrNewerSchema)
	_, err := st.Apply(t.Context(), home.Tenant, swapOf("a", 0, driver.Set))
	require.ErrorIs(t, err, ErrNewerSchema)
	_, err = Open(t.Context(), dsn, Options{})
	require.ErrorIs(t, err, ErrNewerSchema)
	require.Len(t, list(t, st, home), 1)
	run(t, dsn, `UPDATE agentmemory_meta SET number = number - 1`)
}

// A transaction that the server has undone for another one is tried again: after a deadlock, and after a
// lock that was waited for too long.
func TestM8_UndoneTransactions(t *testing.T) {
	for _, code := range []int{1213, 1205} {
		dsn := emptyDatabase(t)
		st := opened(t, dsn).Memory()
		run(t, dsn, `CREATE TABLE tries (n INT AUTO_INCREMENT PRIMARY KEY)`, // numbers go on although rows are undone
			fmt.Sprintf(`CREATE TRIGGER give_up BEFORE INSERT ON agentmemory_entries FOR EACH ROW BEGIN
				INSERT INTO tries VALUES (NULL);
				IF LAST_INSERT_ID() MOD 3 > 0 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = %d, MESSAGE_TEXT = 'undone'; END IF;
			END`, code))
		m := driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry("1")}}, Events: []events.Record{eventOf("run", "evt_1")}}
		m.Documents = swapOf("a", 0, driver.Set).Documents
		apply(t, st, m)
		require.Len(t, list(t, st, home), 1)
		require.Len(t, waiting(t, st), 1)
	}
}

// A call that waits for a lock ends with its context, and its outcome is known.
func TestM8_AWaitEndsWithItsContext(t *testing.T) {
	s := ownServer(t)
	require.NoError(t, s.admin(t.Context(), "CREATE DATABASE waits"))
	dsn := with(s.in("waits"), "innodb_lock_wait_timeout", "1")
	st := opened(t, dsn).Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("0")))
	pool, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer pool.Close()
	tx, err := pool.Begin()
	require.NoError(t, err)
	_, err = tx.Exec(`UPDATE agentmemory_tenants SET horizon = horizon + 1`)
	require.NoError(t, err)
	for _, m := range []driver.Mutation{{At: now, Put: []driver.Placed{{Scope: home, Entry: entry("1")}}}, {At: now, Erase: []driver.Located{{Scope: home, ID: "mem_0"}}}} {
		brief, cancel := context.WithCancel(t.Context())
		answer := make(chan error)
		go func() { _, err := st.Apply(brief, home.Tenant, m); answer <- err }()
		require.Eventually(t, func() bool {
			var name string
			var n int
			require.NoError(t, pool.QueryRow(`SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'`).Scan(&name, &n))
			return n > 0
		}, time.Minute, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-answer, context.Canceled)
	}
	require.NoError(t, tx.Rollback())
	require.Len(t, list(t, st, home), 1)
}

// cutter is a network on which connections end behind what they have sent, if it holds a word.
type cutter struct {
	word  atomic.Pointer[string]
	times atomic.Int64
}

func (c *cutter) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
	return &cutConn{conn, c}, err
}

type cutConn struct {
	net.Conn
	*cutter
}

func (c *cutConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if word := c.word.Load(); word != nil && bytes.Contains(b, []byte(*word)) && c.times.Add(-1) >= 0 {
		c.Close()
	}
	return n, err
}

// A connection that is lost before a commit costs nothing but time. Behind one the outcome is unknown,
// unless the change can be made again; and then it was made or not, as a whole.
func TestM8_LostConnections(t *testing.T) {
	if !forTests(t).owned() {
		t.Skip("the test cuts connections by a socket")
	}
	net := new(cutter)
	mysql.RegisterDialContext("cut", net.dial)
	db := opened(t, strings.Replace(freshDatabase(t), "@unix(", "@cut(", 1))
	st := db.Memory()
	cut := func(word string, times int64) { net.word.Store(&word); net.times.Store(times) }
	put := func(id string) error {
		_, err := st.Apply(t.Context(), home.Tenant, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry(id)}}})
		return err
	}
	require.NoError(t, put("0"))
	cut("START TRANSACTION", 2) // before a commit is sent
	swap := swapOf("a", 0, driver.Set)
	swap.Put = []driver.Placed{{Scope: home, Entry: entry("1")}}
	apply(t, st, swap)
	cut("SELECT", 2)
	require.Len(t, list(t, st, home), 2)
	cut(";\nCOMMIT", 2)
	require.NoError(t, st.Put(t.Context(), home, entry("2")))
	for i := range 10 {
		cut(";\nCOMMIT", 1)
		id := fmt.Sprint("unknown-", i)
		require.ErrorIs(t, put(id), driver.ErrOutcomeUnknown)
		require.NoError(t, st.Put(t.Context(), home, entry(id)))
	}
	require.Len(t, list(t, st, home), 13)
	cut(";\nCOMMIT", 1000)
	require.ErrorIs(t, st.Put(t.Context(), home, entry("never told")), driver.ErrOutcomeUnknown)
	require.ErrorIs(t, st.Delivered(t.Context(), []events.Record{eventOf("run", "evt_1")}), driver.ErrOutcomeUnknown)
}

// Connections that the server has ended while they were idle are replaced.
func TestM8_EndedConnections(t *testing.T) {
	s := ownServer(t)
	require.NoError(t, s.admin(t.Context(), "CREATE DATABASE ended"))
	st := opened(t, s.in("ended")).Memory()
	require.NoError(t, st.Put(t.Context(), home, entry("0")))
	for i := range 3 {
		require.NoError(t, s.end(9))
		require.NoError(t, s.start())
		apply(t, st, driver.Mutation{At: now, Put: []driver.Placed{{Scope: home, Entry: entry(fmt.Sprint("after ", i))}}})
		require.Len(t, list(t, st, home), 2+i)
	}
}

// What a host's author does wrong is named, with what to do; no text of an error has a password.
func TestM2_MistakesAreNamed(t *testing.T) {
	open := func(dsn string, o Options) error { _, err := Open(context.Background(), dsn, o); return err }
	for name, m := range map[string]struct {
		err, class error
		says       string
	}{
		"a malformed name": {open("agents:s3cret@db/agents", Options{}), driver.ErrValidation,
			"memory: invalid input: the data source name is malformed: write it as in user:password@tcp(host:3306)/database"},
		"no database": {open("agents:s3cret@tcp(db:3306)/", Options{}), driver.ErrValidation,
			"memory: invalid input: the data source name has no database: end it in /database"},
		"connections": {open("agents:s3cret@tcp(db:3306)/agents", Options{MaxConns: -1}), driver.ErrValidation,
			"memory: invalid input: Options.MaxConns is below zero: 0 is 16"},
		"no server": {open("agents:s3cret@unix(/nowhere/sock)/agents", Options{}), driver.ErrInternal,
			"memory: internal failure: the database failed"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, m.err, m.class)
			require.EqualError(t, m.err, m.says)
		})
	}
}

// Parameters are written into the text of statements. A character set in which a backslash can be the second
// byte of a letter would let what an entry says end its literal: the connection has one of its own.
func TestM1_NoTextEndsItsLiteral(t *testing.T) {
	dsn := freshDatabase(t)
	for _, settings := range [][]string{{}, {"charset", "gbk"}, {"charset", "sjis"}, {"character_set_client", "gbk"}, {"sql_mode", "NO_BACKSLASH_ESCAPES"}} {
		db, err := Open(t.Context(), with(dsn, settings...), Options{})
		require.NoError(t, err, "%v: %v", settings, errors.Unwrap(err))
		s := driver.Scope{Tenant: strings.Join(append(settings, "t"), "="), Ref: "r"}
		var want []string
		for i, text := range []string{"\xbf' OR 1=1 -- ", "\xbf\\' OR 1=1 -- ", "\x95\\", `\`, `\'`, "'", "\x00\x1a\n\r\"", "é\xbf'"} {
			e := driver.Entry{ID: fmt.Sprint("mem_", i), Content: text, Tags: []string{text}, CreatedAt: now}
			require.NoError(t, db.Memory().Put(t.Context(), s, e), "%v %q", settings, text)
			want = append([]string{text}, want...)
		}
		var got []string
		for _, e := range list(t, db.Memory(), s) {
			require.Equal(t, []string{e.Content}, e.Tags)
			got = append(got, e.Content)
		}
		require.Equal(t, want, got, "%v", settings)
		require.NoError(t, db.Close())
	}
	giveBack(dsn)
}
