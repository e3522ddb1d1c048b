// Host is a whole agent host in miniature: the memory layer behind the endpoints of the OpenWOP
// protocol. It is there to be copied, and for test suites to talk to.
//
//	go run . -data host.db -token TOKEN
//
// The first line on standard output says where it listens. Every call but discovery needs a bearer
// token; a second one (-tenant-b) is another tenant. With -seams it also serves the protocol's
// conformance seams.
//
// What to read first:
//
//   - host.go puts the parts together: a store, a bank, the engines, and the upkeep loop.
//   - runs.go is a run from its start to its terminal event, and execution.go what it does between them.
//   - fork.go is a run again, or from a point of its log on.
//   - workflows.go has what runs do: all through their view.
//   - server.go has the routes, and page.go what the page for people at / is given.
package main
