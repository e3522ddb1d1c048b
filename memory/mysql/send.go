package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/openwop/agentmemory/memory/internal/sqlstore"
)

// packetBytes is how much is sent at a time, about. A statement that is larger goes alone, and its
// parameters apart from it.
const packetBytes = 1 << 20

// batch is a list of statements that go to the server together, as few round trips as they need.
// Their parameters are numbered, $1 and so on, each for itself.
type batch struct{ queries []sqlstore.Query }

// exec adds a statement that has no answer.
func (b *batch) exec(text string, args ...any) { b.query(text, args, nil) }

// query adds a statement whose rows are read until row wants no more, or fails.
func (b *batch) query(text string, args []any, row func(sqlstore.Row) (more bool, err error)) {
	b.queries = append(b.queries, sqlstore.Query{Text: text, Args: args, Row: row})
}

// each adds a statement of which row reads each row.
func (b *batch) each(text string, args []any, row func(sqlstore.Row) error) {
	b.query(text, args, func(r sqlstore.Row) (bool, error) { return true, row(r) })
}

// rows adds statements that insert rows, each of which begins with first and its values, as many at a
// time as go into a packet.
func (b *batch) rows(into, first string, rows [][]any) {
	for len(rows) > 0 {
		var text strings.Builder
		var args []any
		text.WriteString(into)
		n := 0
		for size := 0; n < len(rows) && (n == 0 || size < packetBytes/4); n++ {
			if n > 0 {
				text.WriteString(`,`)
			}
			text.WriteString(first)
			for i, arg := range rows[n] {
				if i > 0 {
					text.WriteString(`, `)
				}
				args = append(args, arg)
				text.WriteString(`$` + strconv.Itoa(len(args)))
			}
			text.WriteString(`)`)
			size += sizeOf(&sqlstore.Query{Args: rows[n]})
		}
		b.exec(text.String(), args...)
		rows = rows[n:]
	}
}

// send runs the statements in their order, up to one that fails.
func (b *batch) send(ctx context.Context, conn *sql.Conn) error {
	for rest := b.queries; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+sizeOf(&rest[n]) <= packetBytes) {
			size += sizeOf(&rest[n])
			n++
		}
		if err := sendPacket(ctx, conn, rest[:n], size > packetBytes); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// sizeOf is about how many bytes a statement has.
func sizeOf(q *sqlstore.Query) int {
	size := len(q.Text)
	for _, arg := range q.Args {
		switch x := arg.(type) {
		case []byte:
			size += len(x)
		case string:
			size += len(x)
		}
	}
	return size
}

// sendPacket runs statements in one round trip. The driver writes their parameters into their text,
// unless that is large.
func sendPacket(ctx context.Context, conn *sql.Conn, queries []sqlstore.Query, large bool) error {
	var text strings.Builder
	var args []any
	for i := range queries {
		if i > 0 {
			text.WriteString(";\n")
		}
		args = positional(&text, args, &queries[i])
	}
	var rows *sql.Rows
	var err error
	if large {
		var s *sql.Stmt
		if s, err = conn.PrepareContext(ctx, text.String()); err == nil {
			defer s.Close()
			rows, err = s.QueryContext(ctx, args...)
		}
	} else {
		rows, err = conn.QueryContext(ctx, text.String(), args...)
	}
	if err != nil {
		return err
	}
	defer rows.Close()
	answered := false
	for _, q := range queries {
		if q.Row == nil {
			continue
		}
		if answered && !rows.NextResultSet() {
			break
		}
		answered = true
		for more := true; rows.Next(); {
			if more {
				if more, err = q.Row(rows); err != nil {
					return err
				}
			}
		}
	}
	for rows.NextResultSet() {
	}
	return rows.Err()
}

// positional writes a statement with a mark for each parameter, and adds these to args in the order
// of the marks. A dollar before anything but a digit is none.
func positional(text *strings.Builder, args []any, q *sqlstore.Query) []any {
	parts := strings.Split(q.Text, "$")
	text.WriteString(parts[0])
	for _, part := range parts[1:] {
		rest := strings.TrimLeft(part, "0123456789")
		number := 0
		for _, digit := range part[:len(part)-len(rest)] {
			number = 10*number + int(digit-'0')
		}
		if number == 0 {
			text.WriteByte('$')
		} else {
			text.WriteByte('?')
			args = append(args, q.Args[number-1])
		}
		text.WriteString(rest)
	}
	return args
}

// withConn runs f with a connection of the pool.
func (db *DB) withConn(ctx context.Context, f func(conn *sql.Conn) error) error {
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return sqlstore.EarlyIf(idempotent, err)
	}
	defer conn.Close()
	return f(conn)
}

// repeat calls f with a connection, and again if an error allows that.
func (db *DB) repeat(ctx context.Context, allows func(error) bool, f func(conn *sql.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return failed(ctx, sqlstore.Repeat(ctx, allows, func() error { return db.withConn(ctx, f) }))
}

// read runs statements that change nothing, each of which sees what was committed before it began.
func (db *DB) read(ctx context.Context, build func(*batch)) error {
	return db.repeat(ctx, idempotent, func(conn *sql.Conn) error {
		b := new(batch)
		build(b)
		return b.send(ctx, conn)
	})
}

// answer is read for queries.
func (db *DB) answer(ctx context.Context, _ string, queries func() []sqlstore.Query) error {
	return db.read(ctx, func(b *batch) { b.queries = queries() })
}

// write runs a transaction that can be repeated, in two round trips: see exchange.
func (db *DB) write(ctx context.Context, load func(*batch), decide func(*batch) error) error {
	return db.repeat(ctx, idempotent, func(conn *sql.Conn) error { return db.exchange(ctx, conn, load, decide) })
}

// exchange runs a transaction that changes something, in two round trips: what load adds, and what
// decide adds then, if anything, and does not refuse.
func (db *DB) exchange(ctx context.Context, conn *sql.Conn, load func(*batch), decide func(*batch) error) error {
	b := new(batch)
	b.exec(`START TRANSACTION`)
	b.each(`SELECT number FROM agentmemory_meta`, nil, checkSchema)
	load(b)
	if err := b.send(ctx, conn); err != nil {
		rollback(ctx, conn)
		return sqlstore.EarlyIf(idempotent, err)
	}
	b = new(batch)
	if err := decide(b); err != nil || len(b.queries) == 0 {
		rollback(ctx, conn)
		return err
	}
	b.exec(`COMMIT`)
	return commit(ctx, conn, b)
}

// patience is how long a change whose context has ended is waited for.
var patience = sqlstore.Patience

// commit runs the last statements of a transaction. When ctx ends they are waited for, so that the
// outcome is known if the server answers at all.
func commit(ctx context.Context, conn *sql.Conn, b *batch) error {
	steady, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(patience, end) })()
	err := b.send(steady, conn)
	if err != nil {
		rollback(ctx, conn)
	}
	if err != nil && (codeOf(err) == 0 || lost(err)) {
		return ErrOutcomeUnknown.With("", err)
	}
	return err
}

// rollback ends a transaction that is not to be committed. A connection on which that does not
// succeed in time is not used again, which ends it as well.
func rollback(ctx context.Context, conn *sql.Conn) {
	brief, end := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer end()
	if _, err := conn.ExecContext(brief, `ROLLBACK`); err != nil {
		_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	}
}

// idempotent allows a repetition after every failure that may pass.
func idempotent(err error) bool { return aborted(err) || lost(err) }

// unsent allows it only where nothing can have happened.
func unsent(err error) bool { return aborted(err) || errors.As(err, new(sqlstore.Early)) }
