package mcp

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTool serves a tool with the schemas of its input and output.
func addTool[In, Out any](s *Server, t *sdk.Tool, h sdk.ToolHandlerFor[In, Out]) {
	t.InputSchema, t.OutputSchema = schemaOf[In](), schemaOf[Out]()
	sdk.AddTool(s.mcp, t, h)
}

// schemaOf returns the schema of a type of this package.
func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: the schema of %T: %v", *new(T), err))
	}
	withoutNull(schema)
	return schema
}

// withoutNull takes null out of the type of each list in a schema: a list as the value of "type"
// is what many clients cannot read.
func withoutNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if s.Items != nil {
		withoutNull(s.Items)
	}
	for _, property := range s.Properties {
		withoutNull(property)
	}
}
