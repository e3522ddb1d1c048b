package commitment

import (
	"github.com/openwop/agentmemory/memory/driver"
)

// For the tests.
const DocumentKind = documentKind

var FromDocument = fromDocument

func (c *Commitment) Document() driver.Document { return c.document() }
