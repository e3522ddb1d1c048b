package main

import (
	"context"

	"github.com/openwop/agentmemory/memory"
)

// The two tenants of the sample, each with what its bearer token says.
const (
	tenantA = "tenant-a"
	tenantB = "tenant-b"
)

// homeRef is the memory of the sample's agent. Each tenant has one of that name.
const (
	homeRef   = "mem://host/assistant"
	assistant = "host.sample.assistant"
)

// workflows are what runs do. Everything they read and write goes through the run: its view, its
// redactor, its log. The first seven are the protocol's conformance fixtures; fixtures.go has those
// that only probe the host.
var workflows = map[string]func(ctx context.Context, x *execution) error{
	"conformance-noop":                          noop,
	"conformance-agent-memory-roundtrip":        roundTrip,
	"conformance-agent-memory-redaction":        redaction,
	"conformance-agent-memory-ttl":              expiry,
	"conformance-agent-memory-cross-tenant":     crossTenant,
	"conformance-agent-memory-injection-budget": injectionBudget,
	witnessFixture:                              witness,
	"host.sample.remember":                      remember,
	"host.sample.reminder":                      noop,
}

// noop does nothing, and keeps that it did at the end of the session.
func noop(ctx context.Context, x *execution) error {
	_, err := x.put(ctx, homeRef, memory.Draft{Content: "A session ended.", Tags: []string{"source:session-end"}})
	return err
}

func roundTrip(ctx context.Context, x *execution) error {
	e, err := x.put(ctx, homeRef, memory.Draft{Content: "The assistant was asked to remember this.", Tags: []string{"source:conformance"}})
	if err != nil {
		return err
	}
	x.doc.Refs = append(x.doc.Refs, homeRef)
	back, err := x.Memory().Get(ctx, homeRef, e.ID)
	x.doc.Variables["memoryReadback"] = back
	return err
}

// remember keeps the text that the run was given.
func remember(ctx context.Context, x *execution) error {
	text, _ := x.doc.Inputs["text"].(string)
	e, err := x.put(ctx, homeRef, memory.Draft{Content: text, Tags: []string{"source:input"}})
	if err != nil {
		return err
	}
	x.doc.Refs = append(x.doc.Refs, homeRef)
	x.doc.Variables["memoryReadback"], err = x.Memory().Get(ctx, homeRef, e.ID)
	return err
}
