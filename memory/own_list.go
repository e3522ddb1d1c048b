package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/openwop/agentmemory/memory/driver"
)

const (
	// ownListKeys begin the keys of the documents that hold the own writes of a run. Each has no
	// word of an entry, and lives as long as a suspended run may wait: for a horizon after the
	// newest token that names it.
	ownListKeys   = "memory/own/"
	ownListFormat = 1
)

type ownList struct {
	Format int      `json:"v"`
	Own    ownMarks `json:"own"`
}

// keepOwn keeps the own writes of a snapshot whose token would be long, under a key by which the
// token names them.
func (b *Bank) keepOwn(ctx context.Context, s *snapshot) error {
	list, err := json.Marshal(ownList{ownListFormat, s.own})
	if err != nil {
		return failWith(ErrInternal, "the list of what the run wrote is no JSON", err)
	}
	if len(list) <= maxOwnBytes || b.traits.ReadOnly {
		return nil
	}
	sum := sha256.Sum256(list)
	key := ownListKeys + hex.EncodeToString(sum[:])
	for {
		d, err := b.ownList(ctx, s.tenant, key)
		if err != nil {
			return err
		}
		due, act := s.at.Add(b.cfg.Horizon), driver.Retain
		switch {
		case d.Rev == 0:
			d.Value, act = list, driver.Set
		case !d.Due.Before(due): // as another process, whose clock is ahead, has promised
			s.listed = key
			return nil
		}
		d.Due = due
		if _, err = b.swap(ctx, s.tenant, driver.DocumentSwap{Document: d, Act: act}); err == nil {
			s.listed = key
		}
		if !errors.Is(err, ErrConflict) { // another handle has kept the same writes meanwhile
			return err
		}
	}
}

// loadOwn reads the own writes that a token names.
func (b *Bank) loadOwn(ctx context.Context, s *snapshot) error {
	if s.own != nil {
		return nil
	}
	d, err := b.ownList(ctx, s.tenant, s.listed)
	if err != nil {
		return err
	}
	if d.Rev == 0 {
		return fail(ErrSnapshotUnavailable, "the list of what the run wrote was removed after the horizon, or lost")
	}
	var list ownList
	if err := json.Unmarshal(d.Value, &list); err != nil || list.Format != ownListFormat || list.Own == nil {
		return fail(ErrSnapshotUnavailable, "the list of what the run wrote is of another version of this package, or damaged")
	}
	s.own = list.Own
	return nil
}

// ownList reads the document of a key; its Rev is 0 if there is none.
func (b *Bank) ownList(ctx context.Context, tenant, key string) (driver.Document, error) {
	for d, err := range b.machinery(ctx, tenant, driver.DocumentQuery{Kind: RemoveWhenDue, Key: key}) {
		return d, err
	}
	return driver.Document{Scope: Scope{Tenant: tenant}, Kind: RemoveWhenDue, Key: key}, nil
}
