package postgres

import (
	"context"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/openwop/agentmemory/memory/driver"
)

// page is a part of a list: where it begins, how much it takes and what it filters.
// Its first arguments are the tenant, the ref, the instant, the position behind which
// it begins, and the limit; then come those of its filters.
type page struct {
	args    []any
	filters string
	pinned  string // the parameter of its version; empty for what is live now
	limit   int
	nothing bool // no entry can match
}

// pageOf prepares a list.
func pageOf(s driver.Scope, q driver.Query) page {
	p := page{args: make([]any, 0, 12), limit: max(q.Limit, 0)}
	p.args = append(p.args, []byte(s.Tenant), keyOf(s.Ref), q.At.UnixMilli(), int64(math.MaxInt64), []byte{}, nil)
	if p.limit > 0 {
		p.args[5] = int64(p.limit)
	}
	if !q.After.IsZero() {
		p.behind(q.After)
	}
	if q.Tag != "" {
		p.nothing = !isText(q.Tag)
		p.filter(`$? = ANY (e.tags)`, q.Tag)
	}
	return p
}

// behind makes the page begin behind a position.
func (p *page) behind(c driver.Cursor) {
	p.args[3], p.args[4] = c.CreatedAt.UnixMilli(), []byte(c.ID)
}

// filter adds a condition, in which $? is arg.
func (p *page) filter(condition string, arg any) {
	p.filters += " AND " + strings.ReplaceAll(condition, "$?", p.parameter(arg))
}

func (p *page) parameter(arg any) string {
	p.args = append(p.args, arg)
	return "$" + strconv.Itoa(len(p.args))
}

// pin makes the page one of the n-th version.
func (p *page) pin(n int64) { p.pinned = p.parameter(n) }

const (
	pageScope = ` AND NOT e.erased AND e.expires_at > $3 AND (e.created_at, e.id) < ($4, $5)`
	pageOrder = ` ORDER BY created_at DESC, id DESC LIMIT $6`
)

// sql is the statement of the page. What is live now is a range of one index. At a
// version there is to add what has been retired since, and the few entries that were
// restored since and were live then, each by an index of its own.
func (p *page) sql() string {
	narrowed := pageScope + p.filters
	const from = `SELECT ` + entryColumns + ` FROM agentmemory.entries e`
	const live = ` WHERE e.tenant = $1 AND e.ref = $2 AND e.died = 9223372036854775807`
	if p.pinned == "" {
		return from + live + narrowed + pageOrder
	}
	v := p.pinned
	const past = ` WHERE e.tenant = $1 AND e.ref = $2 AND e.died < 9223372036854775807 AND e.died > `
	const former = `SELECT ` + entryColumns + ` FROM agentmemory.former f, LATERAL (
			SELECT * FROM agentmemory.entries e WHERE e.tenant = $1 AND e.ref = $2 AND e.id = f.id OFFSET 0) e
		WHERE f.tenant = $1 AND f.ref = $2 AND f.died > `
	return `SELECT * FROM (
		(` + from + live + ` AND e.born <= ` + v + narrowed + pageOrder + `) UNION ALL
		(` + from + past + v + ` AND e.born <= ` + v + narrowed + pageOrder + `) UNION ALL
		(` + former + v + ` AND f.born <= ` + v + narrowed + pageOrder + `)) x` + pageOrder
}

func (p *page) queue(b *pgx.Batch, entries *[]driver.Entry) {
	b.Queue(p.sql(), p.args...).Query(collect(entries))
}

// pageSize is how many entries a scan reads ahead.
const pageSize = 512

// scan yields the entries of a list as it was when the loop began, page by page.
// keep says which of them count.
func (st *Store) scan(ctx context.Context, s driver.Scope, p page, keep func(*driver.Entry) bool) iter.Seq2[driver.Entry, error] {
	return func(yield func(driver.Entry, error) bool) {
		if err := ctx.Err(); err != nil || p.nothing {
			if err != nil {
				yield(driver.Entry{}, err)
			}
			return
		}
		p := p
		p.args = slices.Clone(p.args)
		latest, err := st.Version(ctx, s.Tenant)
		if err != nil {
			yield(driver.Entry{}, err)
			return
		}
		v, _ := availabilityOf(latest)
		p.pin(v.n)
		left := p.limit
		size := pageSize / 4
		for {
			if left > 0 && keep == nil {
				size = min(size, left)
			}
			p.args[5] = int64(size)
			entries, err := st.pageAt(ctx, s.Tenant, &p, v)
			if err != nil {
				yield(driver.Entry{}, err)
				return
			}
			for i := range entries {
				if keep != nil && !keep(&entries[i]) {
					continue
				}
				if !yield(entries[i], nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if len(entries) < size {
				return
			}
			p.behind(entries[len(entries)-1].Cursor())
			size = pageSize
		}
	}
}

// Scan yields what List would return, in pages of one version. The body of the loop
// may use the store. If [Store.Purge] passes the version at which the scan began, the
// scan stops with [driver.ErrSnapshotUnavailable].
func (st *Store) Scan(ctx context.Context, s driver.Scope, q driver.Query) iter.Seq2[driver.Entry, error] {
	return st.scan(ctx, s, pageOf(s, q), nil)
}
