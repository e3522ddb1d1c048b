// Package capability tells what a host's memory can do: it reads that out of a
// discovery document, and writes the document from what a host really has
// (RFC 0080).
//
// The protocol scatters the answer over two families of the document. A [Model]
// is one coherent reading of them: eight dimensions, each satisfied or not, with
// the field that says so and the reason in one line. [Parse] makes one of any
// host's document. [Derive] makes one of a bank and of the engines that are wired
// to it, and is how a host should come by its own: what the code cannot do does
// not get into the document.
//
//	m, err := capability.Derive(capability.Inputs{Bank: bank, Declare: document})
//	fmt.Println(m.Explain())          // for the operator
//	body, err := json.Marshal(m)      // the document to serve
//	m.Degraded(capability.Shape{LongTerm: true}) // what an agent would miss
//
// # Guarantees
//
//   - A1: a derived model claims no more than the store, the bank and the engines
//     offer. A host may leave out what it has; asking for what it has not is an
//     error that names the missing piece. Only a store that outlives its process
//     is long-term.
//   - A2: families are written at the root of the document. A "capabilities"
//     object around them is tolerated when reading, family by family, where the
//     root has none.
//   - A3: [Model.Degraded] is a pure function of the model and of what an agent
//     asks for. Its dimensions are unique and in the order of [Dimensions].
//     longTerm needs read, write and long-term-durability; scratchpad and
//     conversation need read and write.
//   - A4: a derived model has replay-snapshot only over a store whose runs have
//     views and tokens.
//   - Fields that this package does not know are kept.
//
// # Errors
//
// A document that cannot be read gives a [*DocumentError]: for each rule it breaks
// the JSON pointer, the rule and the JSON type of what is there, never a value.
// What is claimed without being there gives a [*ClaimError] each, joined. A name
// that is no dimension gives [ErrDimension].
//
// # Concurrency
//
// A Model never changes. All functions are safe for concurrent use.
package capability
