package wire

import (
	"log/slog"

	"github.com/openwop/agentmemory/events"
)

// Version is a major version of the protocol.
type Version int

// The versions. The zero value of an [Encoder] is version 2.
const (
	V1 Version = 1
	V2 Version = 2
)

// String returns the major and minor version, as the header OpenWOP-Version and a discovery
// document have it.
func (v Version) String() string {
	if v == V1 {
		return "1.1"
	}
	return "2.0"
}

// Encoder writes what a host says in one version of the protocol.
type Encoder struct {
	// Version is V2 if it is zero.
	Version Version
	// Log is told of every answer that is internal_error, with the code, the method and the
	// route. With nil nothing is logged.
	Log *slog.Logger
}

// Path is a path of the protocol, given without its version: "/runs" is /v1/runs in version
// 1 and /runs in version 2.
func (e Encoder) Path(path string) string {
	if e.Version == V1 {
		return "/v1" + path
	}
	return path
}

// Seam is a path of the conformance seams: "/memory/distill" is
// /v1/host/sample/memory/distill in version 1 and
// /conformance/seams/sample/memory/distill in version 2.
func (e Encoder) Seam(path string) string {
	if e.Version == V1 {
		return "/v1/host/sample" + path
	}
	return "/conformance/seams/sample" + path
}

// Files is a path of the workspace: "/notes.md" is /v1/host/workspace/files/notes.md in version 1.
// Version 2 has no path for files but the one among its conformance seams.
func (e Encoder) Files(path string) string {
	if e.Version == V1 {
		return "/v1/host/workspace/files" + path
	}
	return "/conformance/seams/workspace/files" + path
}

// renamed are the events of this module that have another name in version 2.
var renamed = map[events.Type]string{events.TypeMemoryConsolidated: "agent.memory-consolidated"}

// EventType is the name of a type of events in the version.
func (e Encoder) EventType(t events.Type) string {
	if name, ok := renamed[t]; ok && e.Version != V1 {
		return name
	}
	return string(t)
}
