package mysql

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openwop/agentmemory/events"
	"github.com/openwop/agentmemory/memory/driver"
	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// keptRun is the log of a run: the sequence that its next event gets, and the instants of the first and
// the last one.
type keptRun struct{ next, first, last int64 }

const ofRun = ` tenant = $1 AND run_id = $2`

// lock adds what takes the row of a run, and makes it if there is none. Who keeps an event of a run
// holds it to the end.
func (k *keptRun) lock(b *batch, tenant []byte, id string) {
	name := []any{tenant, []byte(id)}
	b.exec(`INSERT INTO agentmemory_runs (tenant, run_id) VALUES ($1, $2) ON DUPLICATE KEY UPDATE next = next`, name...)
	b.each(`SELECT next, first_time, last_time FROM agentmemory_runs WHERE`+ofRun, name, func(row sqlstore.Row) error {
		return row.Scan(&k.next, &k.first, &k.last)
	})
}

// save adds what writes down how far the log has come.
func (k *keptRun) save(b *batch, tenant []byte, id string) {
	b.exec(`UPDATE agentmemory_runs SET next = $3, first_time = $4, last_time = $5 WHERE`+ofRun, tenant, []byte(id), k.next, k.first, k.last)
}

// addEvents adds the events of a mutation, which wait or are kept in their order.
func (g *group) addEvents(b *batch, m *driver.Mutation, fresh []events.Record) {
	for i := range fresh {
		r := &fresh[i]
		at := r.Time.UnixMilli()
		var sequence any
		if m.Keep {
			k := g.runs[r.RunID]
			sequence = k.next
			if k.next == 0 {
				k.first = at
			}
			k.next, k.last = k.next+1, at
		}
		e := g.events[eventName{r.RunID, r.ID}]
		b.exec(`INSERT INTO agentmemory_events (tenant, run_id, event_id, sequence, node_id, causation_id, engine_version, schema_version, time, type, payload)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			g.tenant, []byte(r.RunID), []byte(r.ID), sequence, []byte(r.NodeID), []byte(r.CausationID), []byte(r.EngineVersion),
			int64(r.SchemaVersion), at, []byte(e.kind), []byte(e.payload))
	}
}

// clock is the database's own time in milliseconds, which no time zone changes; claims end by it. One that
// would end later than one made now is of a clock that has been put back since, and has ended.
const clock = `(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000)`

// claimMillis is for how long a run is claimed, in milliseconds.
const claimMillis = 5000

// claimRuns claims the runs of a page for five seconds by their oldest events, so that relays share
// the work and no event of a run overtakes another. It returns those that we have.
func (db *DB) claimRuns(ctx context.Context, page []sqlstore.Event) (claimed map[int64]bool, err error) {
	var heads []int64
	for i := range page {
		heads = append(heads, page[i].Head)
	}
	slices.Sort(heads)
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(slices.Compact(heads))), ","), "[]")
	err = db.read(ctx, func(b *batch) {
		claimed = map[int64]bool{}
		b.exec(`UPDATE agentmemory_events FORCE INDEX (PRIMARY) SET owner = $1, until = `+clock+` + $2 WHERE number IN (`+list+`) AND sequence IS NULL
			AND (owner = $1 OR until NOT BETWEEN `+clock+` + 1 AND `+clock+` + $2)`, db.owner, claimMillis)
		b.each(`SELECT number FROM agentmemory_events WHERE number IN (`+list+`) AND owner = $1 AND until > `+clock, []any{db.owner}, func(row sqlstore.Row) error {
			var number int64
			err := row.Scan(&number)
			claimed[number] = true
			return err
		})
	})
	return claimed, err
}

// release ends the claims of this DB.
func (db *DB) release(ctx context.Context) error {
	return db.write(ctx, func(*batch) {}, func(b *batch) error {
		b.exec(`UPDATE agentmemory_events SET owner = NULL, until = 0 WHERE sequence IS NULL AND owner = $1`, db.owner)
		return nil
	})
}

// Delivered removes events that wait.
func (st *Store) Delivered(ctx context.Context, recs []events.Record) error {
	if err := ctx.Err(); err != nil || len(recs) == 0 {
		return err
	}
	order := slices.SortedFunc(slices.Values(recs), func(a, b events.Record) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.RunID, b.RunID), strings.Compare(a.ID, b.ID))
	})
	return st.db.write(ctx, func(*batch) {}, func(b *batch) error {
		for _, r := range order {
			b.exec(`DELETE FROM agentmemory_events WHERE`+ofRun+` AND event_id = $3 AND sequence IS NULL`, []byte(r.Tenant), []byte(r.RunID), []byte(r.ID))
		}
		return nil
	})
}

// PurgeEvents removes the kept events of runs whose first and last one are from before an instant, at
// most limit runs of them. It has the row of each, so that no other process numbers an event behind one
// that goes.
func (st *Store) PurgeEvents(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	limit = max(1, limit)
	var runs []events.Record // of each the tenant and the id
	const ended = `SELECT tenant, run_id FROM agentmemory_runs WHERE last_time < $1 AND first_time < $1 LIMIT $2`
	err = st.db.read(ctx, func(b *batch) {
		runs = nil
		b.each(ended, []any{before.UnixMilli(), limit}, func(row sqlstore.Row) error {
			var r events.Record
			err := row.Scan((*sqlstore.Name)(&r.Tenant), (*sqlstore.Name)(&r.RunID))
			runs = append(runs, r)
			return err
		})
	})
	if err != nil || len(runs) == 0 {
		return false, err
	}
	slices.SortFunc(runs, func(a, b events.Record) int {
		return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.RunID, b.RunID))
	})
	err = st.db.write(ctx, func(*batch) {}, func(b *batch) error {
		for _, r := range runs {
			name := []any{[]byte(r.Tenant), []byte(r.RunID)}
			b.exec(`DELETE FROM agentmemory_runs WHERE`+ofRun+` AND last_time < $3`, append(name, before.UnixMilli())...)
			b.exec(`DELETE FROM agentmemory_events WHERE`+ofRun+` AND sequence IS NOT NULL
				AND NOT EXISTS (SELECT 1 FROM agentmemory_runs r WHERE r.tenant = $1 AND r.run_id = $2)`, name...)
		}
		return nil
	})
	return err == nil && len(runs) == limit, err
}

// payloadOf is what an event says.
func payloadOf(r *events.Record) storedEvent {
	payload, err := json.Marshal(r.Payload)
	if err != nil {
		panic(err) // [driver.Mutation.Validate] has let it through
	}
	return storedEvent{string(r.Payload.EventType()), string(payload)}
}
