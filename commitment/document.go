package commitment

import (
	"encoding/json"

	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/driver"
)

// A commitment is kept as a document of its tenant:
//
//	Tenant  the tenant
//	Ref     ""
//	Class   Machinery
//	Kind    "commitment"
//	Key     Commitment.ID
//	Group   Arm.Predicate, while the state is not final; otherwise ""
//	Due     Commitment.Due, or zero
//	Value   a JSON object: the format and the members of [Commitment]
//
// A value of a newer format than [documentFormat] is refused with [ErrNewerFormat] and
// never written over.
const (
	documentKind   = "commitment"
	documentFormat = 1
)

// value is the JSON form of a commitment.
type value struct {
	Format int `json:"format"`
	*Commitment
}

// document returns the document of a commitment.
func (c *Commitment) document() driver.Document {
	text, _ := json.Marshal(value{documentFormat, c}) // of strings, numbers and checked instants, which never fails
	d := driver.Document{
		Scope: memory.Scope{Tenant: c.Tenant}, Class: driver.Machinery, Kind: documentKind, Key: c.ID,
		Value: text, Due: c.Due, Rev: c.Rev,
	}
	if !c.State.Final() {
		d.Group = c.Arm.Predicate
	}
	return d
}

// fromDocument reads a document that [Commitment.document] made. With an error it returns
// the names only.
func fromDocument(d *driver.Document) (Commitment, error) {
	v := value{Commitment: &Commitment{}}
	err := json.Unmarshal(d.Value, &v) // reads the format also beside members that it cannot read
	switch {
	case v.Format > documentFormat:
		return Commitment{Tenant: d.Tenant, ID: d.Key}, ErrNewerFormat
	case err != nil || v.Format < 1:
		return Commitment{Tenant: d.Tenant, ID: d.Key}, internal("a commitment cannot be read", err)
	}
	c := *v.Commitment
	c.Tenant, c.ID, c.Due, c.Rev = d.Tenant, d.Key, d.Due, d.Rev
	return c, nil
}
