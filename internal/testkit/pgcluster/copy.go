package pgcluster

import (
	"context"
	"errors"
	"fmt"
)

// Backup copies the data of a server that runs, as pg_basebackup does, into a cluster of
// its own. That is stopped: [Cluster.Restart] starts it, with what the copy holds.
func (c *Cluster) Backup(ctx context.Context) (*Cluster, error) {
	return c.copy(ctx, func(context.Context, *home) error { return nil })
}

// Standby starts a server that follows c and can be read. Name is what c may list it by in
// synchronous_standby_names.
func (c *Cluster) Standby(ctx context.Context, name string) (*Cluster, error) {
	standby, err := c.copy(ctx, func(_ context.Context, h *home) error {
		return errors.Join(h.add("data/standby.signal", ""),
			h.add("data/postgresql.auto.conf", fmt.Sprintf("primary_conninfo = '%s application_name=%s'\n", c.dsn, name)))
	})
	if err != nil {
		return nil, err
	}
	if err := standby.Restart(ctx); err != nil {
		return nil, errors.Join(err, standby.Close())
	}
	return standby, nil
}

func (c *Cluster) copy(ctx context.Context, change func(context.Context, *home) error) (*Cluster, error) {
	if c.home == nil {
		return nil, errNotOurs
	}
	h, err := newHome(ctx, c.home.bin, func(ctx context.Context, h *home) error {
		err := h.run(ctx, "pg_basebackup", "--dbname", c.dsn, "--pgdata", h.data(), "--checkpoint", "fast", "--no-sync")
		if err != nil {
			return err
		}
		return change(ctx, h)
	})
	if err != nil {
		return nil, err
	}
	return &Cluster{dsn: h.dsn(), home: h}, nil
}

// Promote ends a standby's following: it is a server of its own from then on. It returns
// when that takes writes.
func (c *Cluster) Promote(ctx context.Context) error {
	if c.home == nil {
		return errNotOurs
	}
	return c.home.run(ctx, "pg_ctl", "promote", "--pgdata", c.home.data(), "--wait")
}

// Program is the path of a client program that came with the server, as pg_dump.
func (c *Cluster) Program(name string) (string, error) {
	if c.home == nil {
		return "", errNotOurs
	}
	return c.home.program(name), nil
}
