package postgres

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openwop/agentmemory/memory/driver"
)

// fixture is testdata/v1.json: what the database of testdata/v1.sql holds.
type fixture struct {
	Now     int64
	Tenants []struct {
		Tenant, Version, Purge string
		Number, Horizon        uint64
	}
	Scopes []struct {
		Tenant, Ref string
		Live        []string
		Records     []fixtureRecord
	}
	Versions []struct {
		Tenant, Version     string
		At                  int64
		Unavailable, Intact bool
		Lists               []fixtureList
	}
	Cells []struct {
		Tenant, Ref, Name string
		Value             []byte
	}
	Outbox []struct {
		Tenant, Run, ID, Type, Node string
		Time                        int64
		Payload                     map[string]any
	}
	Commitments []fixtureCommitment
	Archives    []struct {
		Tenant, Ref, Key, Address, Output string
		Data                              []byte
	}
	Files      []fixtureFile
	FileEvents []struct {
		Tenant, Run, ID, Path string
		Version, At           int64
	}
}

type fixtureRecord struct {
	ID, Content, Run, State, Successor string
	Tags, Subjects, Sources            []string
	CreatedAt, ExpiresAt               int64
	Erased                             bool
}

type fixtureCommitment struct {
	Tenant, ID, Ref, MemoryID string
	Arm                       struct {
		At                    time.Time
		Every                 int64
		Spec, Predicate, Zone string
		Once                  bool
	}
	ArmedAt             time.Time
	State, Reason, Heir string
	Canceled, Complete  bool
	Due, Mark           time.Time
	Position            int64
	Digest              string
	Claim               struct {
		Instant         time.Time
		Position, Tries int64
	}
	Waiting      []int64
	Fence, Fired int64
	Lease        time.Time
	RunID        string
}

type fixtureList struct {
	Ref string
	IDs []string
}

type fixtureFile struct {
	Tenant, Path, Etag, Type, Content string
	Version, At                       int64
}

func readFixture(t *testing.T) (f fixture) {
	data, err := os.ReadFile("testdata/v1.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &f))
	return f
}

func idsOf(entries []driver.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

// document is the commitment as package commitment writes it down.
func (c *fixtureCommitment) document(t *testing.T) driver.Document {
	clean := func(m map[string]any) map[string]any {
		for k, v := range m {
			if at, is := v.(time.Time); is {
				v = at.UnixMilli()
				m[k] = v
				if at.IsZero() {
					delete(m, k)
				}
				continue
			}
			if v == "" || v == false || v == int64(0) {
				delete(m, k)
			}
		}
		return m
	}
	value := clean(map[string]any{
		"format": 1, "ref": c.Ref, "memoryId": c.MemoryID, "armedAt": c.ArmedAt, "state": c.State, "reason": c.Reason, "heir": c.Heir,
		"canceled": c.Canceled, "complete": c.Complete, "mark": c.Mark, "position": c.Position, "digest": c.Digest,
		"fence": c.Fence, "lease": c.Lease, "fired": c.Fired, "runId": c.RunID,
	})
	value["arm"] = clean(map[string]any{"at": c.Arm.At, "every": c.Arm.Every / int64(time.Millisecond), "spec": c.Arm.Spec,
		"predicate": c.Arm.Predicate, "zone": c.Arm.Zone, "once": c.Arm.Once})
	value["claim"] = clean(map[string]any{"instant": c.Claim.Instant, "position": c.Claim.Position, "tries": c.Claim.Tries})
	if len(c.Waiting) > 0 {
		value["waiting"] = c.Waiting
	}
	text, err := json.Marshal(value)
	require.NoError(t, err)
	d := driver.Document{Scope: driver.Scope{Tenant: c.Tenant}, Kind: "commitment", Key: c.ID, Value: text, Due: c.Due}
	if c.State != "acknowledged" && c.State != "lapsed" && c.State != "dead" {
		d.Group = c.Arm.Predicate
	}
	return d
}
