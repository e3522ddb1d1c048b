package commitment

import "github.com/openwop/agentmemory/memory"

// For the tests.
const DocumentKind = documentKind

var FromDocument = fromDocument

func (c *Commitment) Document() memory.Document { return c.document() }
