package inspector_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/openwop/agentmemory/host/inspector"
	"github.com/openwop/agentmemory/host/wire"
	"github.com/openwop/agentmemory/memory"
	"github.com/openwop/agentmemory/memory/inmem"
	"github.com/openwop/agentmemory/redact"
)

// A host mounts the page below a path of its own. Here a person asks for the refs of a tenant.
func ExampleHandler() {
	bank, err := memory.New(inmem.New(), memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	pass := memory.JobConfig{ID: "import", Tenant: "acme", Redactor: redact.New(redact.Config{})}
	if err := bank.Pass(context.Background(), pass, func(job *memory.Job) error {
		_, err := job.Put(context.Background(), "support", memory.Draft{Content: "Lena prefers e-mail."})
		return err
	}); err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/memory/", http.StripPrefix("/memory", &inspector.Handler{
		Bank:   bank,
		Tenant: wire.Bearer(map[string]string{"token-of-ann": "acme"}),
	}))

	r := httptest.NewRequest("GET", "/memory/inspector/refs", nil)
	r.Header.Set("Authorization", "Bearer token-of-ann")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Print(w.Code, " ", w.Body)
	// Output: 200 {"more":false,"refs":["support"]}
}
