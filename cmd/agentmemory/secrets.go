package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/openwop/agentmemory/redact"
)

const variable = "AGENTMEMORY_SECRET_"

// secrets returns a registry of the secrets of a file, a JSON object of ids and values, and of the
// environment. It also finds secrets by their shape in what no bank has redacted. A value that
// cannot be covered ends the program: it would be stored.
func secrets(path string, environ []string, foreign bool) (*redact.SecretRegistry, error) {
	values := map[string]string{}
	if path != "" {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if json.Unmarshal(raw, &values) != nil || values == nil {
			return nil, advice(`the file of -secrets is not a JSON object {"id": "value"}`)
		}
	}
	for _, v := range environ {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, variable) && value != "" {
			values[strings.ToLower(strings.TrimPrefix(name, variable))] = value
		}
	}
	r := redact.New(redact.Config{Shapes: foreign})
	for id, value := range values {
		if err := r.Register(id, []byte(value)); err != nil {
			return nil, fmt.Errorf("a secret cannot be covered, so nothing was imported: %w", err)
		}
	}
	return r, nil
}
