// Package conversation has what bridges to frameworks of agents share: showing entries to a model within a budget, as
// data and not as instructions, and remembering what the model made of them.
package conversation
