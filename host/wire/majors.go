package wire

import (
	"net/http"
	"strings"
)

// Majors serves both versions of the protocol, each by a handler of its own, and names the version
// of each answer by the header OpenWOP-Version. Paths below /v1 are version 1, all others are version
// 2 unless the request names another by that header.
type Majors struct {
	V1, V2 http.Handler
	// Default is the version of the discovery document for a request that names none: V2 if it is
	// zero. A client of version 1 may not know the header.
	Default Version
}

const (
	versionHeader = "OpenWOP-Version"
	wellKnown     = "/.well-known/openwop"
)

// ServeHTTP answers in the version that the request asks for: 400 protocol_version_mismatch if its
// path and its header name two, 406 protocol_version_unsupported if its header names none of the two.
func (m Majors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	version, err := m.version(r)
	w.Header().Set(versionHeader, version.String())
	switch {
	case err != nil:
		Encoder{Version: version}.Refuse(w, r, err)
	case version == V2:
		m.V2.ServeHTTP(w, r)
	default:
		m.V1.ServeHTTP(w, below(r))
	}
}

func (m Majors) version(r *http.Request) (Version, error) {
	major, _, _ := strings.Cut(r.Header.Get(versionHeader), ".")
	if isV1 := strings.HasPrefix(r.URL.Path, "/v1/"); isV1 {
		if major != "" && major != "1" {
			return V1, &Error{Kind: CodeVersionMismatch, Message: "a path below /v1 is of version 1, and the header names another"}
		}
		return V1, nil
	}
	switch major {
	case "":
		if r.URL.Path == wellKnown && m.Default == V1 {
			return V1, nil
		}
		return V2, nil
	case "1":
		return V1, nil
	case "2":
		return V2, nil
	}
	return V2, &Error{Kind: CodeVersionUnsupported, Message: "the host does not speak this version",
		Details: map[string]any{"protocolVersions": []string{V1.String(), V2.String()}}}
}

// below is a request of version 1 under the path that it has there.
func below(r *http.Request) *http.Request {
	if r.URL.Path == wellKnown || strings.HasPrefix(r.URL.Path, "/v1/") {
		return r
	}
	moved := r.Clone(r.Context())
	moved.URL.Path = "/v1" + r.URL.Path
	if r.URL.RawPath != "" {
		moved.URL.RawPath = "/v1" + r.URL.RawPath
	}
	return moved
}
