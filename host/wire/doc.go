// Package wire is how a host says over HTTP what this module says in Go: error codes with
// their statuses, the closed error envelope, the names and shapes of both versions of the
// protocol, and the parts of a server that every host writes again.
//
// An [Encoder] is of one version and has a method for each of them. Its zero value speaks
// version 2:
//
//	var enc wire.Encoder
//	mux.Handle("GET "+enc.Path("/runs/{id}"), enc.Handle(func(w http.ResponseWriter, r *http.Request) error {
//		run, err := load(r.PathValue("id")) // its error goes out as an envelope
//		if err != nil {
//			return err
//		}
//		return wire.Reply(w, http.StatusOK, run)
//	}))
//	http.ListenAndServe(addr, enc.Routes(mux))
//
// A host that speaks both makes its routes twice, by a function of the version, and serves them as
// [Majors]:
//
//	http.ListenAndServe(addr, wire.Majors{V1: routes(wire.V1), V2: routes(wire.V2)})
//
// # Guarantees
//
//   - An envelope has error, message and details, and nothing else. Its text and details
//     are fixed phrases, numbers and names of fields: no cause, no identifier and nothing
//     that was stored (M2). What failed inside the host is internal_error, and a logger
//     alone is told more.
//   - A code goes out with the status that its version registers, see [Encoder.Envelope].
//     Version 2 sends registered codes only: one that it lacks becomes the registered code
//     for the same refusal, with the cause as details.reason.
//   - Events and discovery documents in version 2 have its names: agent.memory-consolidated,
//     presence instead of "supported", paths without /v1.
//   - In version 2 the id of a run is bound to its tenant wherever it stands, and an id that is
//     bound to another tenant is refused before it is read (M1). Ids go out as they are: a host that
//     serves version 2 gives runs and events 16 to 128 letters, digits and . _ ~ - and tenants 1 to 128
//     (identity.md §5), as this module does. None is refused for it: version 1 has others.
//
// # Concurrency
//
// An Encoder is a plain value. All functions are safe for concurrent use.
package wire
