package sqlstore

import (
	"context"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/internal/pages"
	"github.com/openwop/agentmemory/memory/driver"
)

// Documents are the statements of a dialect that read documents, of rows d.
type Documents struct {
	// Page reads the columns of a document, see scanDocument, from a table under a condition, in
	// the order of ref, kind and key: at most PageSize, and not many more bytes than PageBytes. If
	// the condition names one document, one is true.
	Page func(table, where string, bare, one bool) string
	// Of is the table of all, OfLabel that of those with the label in the parameter 2. The
	// conditions beside them name the tenant in the parameter 1.
	Of, OfTenant, OfLabel, OfTenantAndLabel string
	// Parameter is what begins a parameter.
	Parameter string
	// KindInGroup is the kind beside a group, which names fewer.
	KindInGroup string
	// Behind, if it is set, writes that columns are behind values, in place of a comparison of rows;
	// than is > or >=.
	Behind func(columns []string, than string, values []string) string
	// Due reads documents by Due: kind, instant, limit.
	Due string
	// Value returns a value as it was stored; ok is false if it is damaged.
	Value func(stored []byte) (value []byte, ok bool)
}

// Documents yields the documents that q asks for, in the byte order of their refs, kinds and keys,
// a page at a time. The body of the loop may use the store.
func (st *Store) Documents(ctx context.Context, q driver.DocumentQuery) iter.Seq2[driver.Document, error] {
	return func(yield func(driver.Document, error) bool) {
		last, left := q.After, q.Limit
		if left <= 0 {
			left = math.MaxInt
		}
		pages.Of(func(*driver.Document) (page []driver.Document, more bool, err error) {
			text, args, some := st.d.DocumentsBehind(&q, last)
			if !some || left == 0 {
				return nil, false, nil
			}
			size := func(d *driver.Document) int { return len(d.Value) }
			page, more, err = readPage(ctx, st.d, q.Tenant, Query{Text: text, Args: args}, min(left, PageSize), st.d.scanDocument, size)
			if more {
				end := page[len(page)-1]
				last = &end
			}
			page = slices.DeleteFunc(page, func(d driver.Document) bool { return q.Subject != "" && !slices.Contains(d.Subjects, q.Subject) })
			left -= len(page)
			return page, more, err
		})(yield)
	}
}

// DocumentsBehind selects what q asks for behind a document, if there is one. some is false if
// nothing can be there.
func (d *Dialect) DocumentsBehind(q *driver.DocumentQuery, last *driver.Document) (text string, args []any, some bool) {
	args = []any{d.Name(q.Tenant)}
	table, where := d.Documents.Of, d.Documents.OfTenant
	if q.Subject != "" {
		table, where = d.Documents.OfLabel, d.Documents.OfTenantAndLabel
		args = append(args, Label(q.Tenant, q.Subject))
	}
	parameter := func(value string) string {
		args = append(args, d.Name(value))
		return d.Documents.Parameter + strconv.Itoa(len(args))
	}
	kind := `d.kind`
	if q.Group != "" {
		where += ` AND d.grp <> '' AND d.grp = ` + parameter(q.Group)
		if q.Kind != "" {
			kind = d.Documents.KindInGroup
		}
	}
	if last == nil {
		last = new(driver.Document) // which is before all
	}
	// The bound is in the terms of the index in use: the columns that q leaves open, up to one in
	// which the document is not what q asks for.
	var open, bound []string
	behind, alike := ` > `, true
	for _, c := range []struct {
		name, asked, last string
		fixed             bool
	}{{`d.ref`, q.Ref, last.Ref, !q.EveryRef}, {kind, q.Kind, last.Kind, q.Kind != ""}, {`d.key`, q.Key, last.Key, q.Key != ""}} {
		switch {
		case c.fixed:
			where += ` AND ` + c.name + ` = ` + parameter(c.asked)
			if alike && c.last < c.asked {
				behind = ` >= `
			}
			alike = alike && c.last == c.asked
		case alike:
			open, bound = append(open, c.name), append(bound, parameter(c.last))
		}
	}
	switch {
	case len(open) > 0 && d.Documents.Behind != nil:
		where += ` AND ` + d.Documents.Behind(open, behind, bound)
	case len(open) > 0:
		where += ` AND (` + strings.Join(open, `, `) + `)` + behind + `(` + strings.Join(bound, `, `) + `)`
	}
	one := !q.EveryRef && q.Kind != "" && q.Key != ""
	return d.Documents.Page(table, where, q.Bare, one), args, len(open) > 0 || behind == ` >= `
}

// scanDocument reads the revision, tenant, ref, kind, key, class, group, due, of, whole, subjects and
// value of a document.
func (d *Dialect) scanDocument(row Row) (x driver.Document, err error) {
	var class int16
	var due *int64
	var of, subjects []byte
	err = row.Scan(&x.Rev, (*Name)(&x.Tenant), (*Name)(&x.Ref), (*Name)(&x.Kind), (*Name)(&x.Key), &class,
		(*Name)(&x.Group), &due, &of, &x.Whole, &subjects, &x.Value)
	if err != nil {
		return x, err
	}
	x.Class = driver.Class(class)
	if due != nil {
		x.Due = Instant(*due)
	}
	ok := [3]bool{2: true}
	x.Of, ok[0] = Unpack(of)
	x.Subjects, ok[1] = Unpack(subjects)
	if x.Value != nil { // it was asked for
		x.Value, ok[2] = d.Documents.Value(x.Value)
	}
	if ok != [3]bool{true, true, true} {
		err = d.Damaged(nil)
	}
	return x, err
}

// Due returns machinery of a kind, of all tenants, that is due at the instant at, by a range of an
// index of what is due at all.
func (st *Store) Due(ctx context.Context, kind string, at time.Time, limit int) ([]driver.Document, error) {
	q := Query{Text: st.d.Documents.Due, Args: []any{st.d.Name(kind), at.UnixMilli(), max(0, limit)}}
	due, _, err := readPage(ctx, st.d, "", q, -1, st.d.scanDocument, nil)
	return due, err
}
