// Package langchaingo gives the chains and agents of tmc/langchaingo a long-term memory: a schema.Memory that recalls
// before the model is asked and remembers afterwards.
//
//	mem, err := langchaingo.New(ctx, bank, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets},
//		langchaingo.Config{Ref: "assistant", RecallTokens: 1000, RememberTokens: 500})
//	chain := chains.NewConversation(model, mem)
//	answer, err := chains.Run(ctx, chain, question)
//	…
//	err = mem.End(ctx)
//
// # What it does
//
//   - LoadMemoryVariables returns the entries that answer the input, best first, and after them the newest ones: as many
//     as Config.RecallTokens holds. They stand between two lines with a digest of them, which no entry can contain, and
//     are called data. Without entries it is an empty text.
//   - SaveContext remembers the input and the output as one entry, if it is within Config.RememberTokens. Config.Draft makes
//     another one of them.
//   - Clear deletes every entry of the ref that the run sees.
//
// # Guarantees
//
//   - CTI-1: the tenant comes from the RunConfig and the ref from the Config, never from an input.
//   - SR-1: what is stored is redacted, and so is every question before it is compared.
//   - M6: a Memory reads the view of its run, and sees its own writes. What it has cleared stays gone.
//   - M8: an input and an output that are saved again under the same run id are written once.
//   - M10: an exchange is remembered under the subjects of all entries that were loaded for its input, so that forgetting
//     one of them reaches it, and lives no longer than any of them. If one has ended meanwhile, it is not remembered.
//   - S5: an entry is left out, never cut.
//
// # Errors
//
// Missing inputs and outputs, and those that are no text, are langchaingo's ErrInvalidInputValues. All else is an error of
// package memory. No text of an error holds an input, an output or an entry. An exchange that is not remembered for what it
// says is logged to Config.Logger; the chain goes on.
//
// A Memory is safe for concurrent use.
package langchaingo
