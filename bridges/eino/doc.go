// Package eino gives the agents of cloudwego/eino a long-term memory: a middleware that recalls before
// the model answers and remembers afterwards, three tools, and a Retriever.
//
//	mem, err := eino.New(eino.Config{Ref: "assistant", RecallTokens: 1000, RememberTokens: 500})
//	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
//		Name: "assistant", Description: "answers", Model: model,
//		Middlewares: []adk.AgentMiddleware{mem.Middleware()},
//	})
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: checkpoints})
//
//	// for each request, whose tenant is known
//	ctx, run := eino.WithRun(ctx, bank, memory.RunConfig{ID: "run-1", Tenant: "acme", Redactor: secrets})
//	events := runner.Query(ctx, question, adk.WithCheckPointID("run-1"))
//	… // to the end
//	err = run.End(ctx)
//
// # What it does
//
//   - Before each call of the model, the entries that answer the last message of the user are put
//     before that message: as many of the best as Config.RecallTokens holds. They stand between two lines
//     with a digest of them, which no entry can contain, and are called data. After the call they
//     are taken out of the messages again. What eino tells an agent of others in its session, in messages of the user
//     that begin with "For context:", is passed over, so each of several agents answers the user.
//   - After a final answer, the question and the answer are remembered as one entry, if it is within
//     Config.RememberTokens. Config.Draft makes another one of them.
//   - The tools memory_remember, memory_recall and memory_delete are for the model.
//   - [Memory.Retriever] answers a query by documents, in any graph.
//
// # Guarantees
//
//   - CTI-1: the tenant comes from the context of the call and the ref from the Config, never from a
//     message or an argument.
//   - SR-1: what is stored is redacted, and so is every question before it is compared.
//   - M6: everything in one call reads the view of one run, which is fixed at its first use, and sees
//     its own writes. What it was told is deleted stays gone.
//   - M7: the run's token is in the session's values under [TokenKey], so that it is in a checkpoint, and
//     a process that resumes from that has the same view. If that cannot be given, the
//     agent fails with [memory.ErrSnapshotUnavailable]; it never goes on with live memory.
//   - M8: a call of a tool or an answer that is repeated under the same run id, because its process was killed
//     say, is written once.
//   - M10: an answer is remembered under the subjects of all entries that the model was shown in the
//     run, so that forgetting one of them reaches it, and lives no longer than any of them. That is wide on
//     purpose, and goes on through answers that are shown in turn: it cannot be told what a model has used. If one was
//     forgotten, was deleted by the run or has expired meanwhile, the answer is not remembered. If one is forgotten while
//     the answer is being written, the answer is erased again; only a process that is killed between the two leaves it.
//   - S5: an entry is left out, never cut.
//
// # Errors
//
// Bad arguments, and all else that fails in a tool, are told to the model as {"error": "…"}: an agent does not
// end for that. What its text holds is nothing that was stored. A run that cannot be opened, a
// recall that fails before the model, and a store that fails to remember an answer end the agent with an error
// event; the answer itself was delivered before. An answer that is not remembered for what it says is logged to
// Config.Logger.
//
// # What it does not do
//
//   - There is no checkpoint store. A checkpoint is opaque to memory: its messages would be stored without
//     passing the redactor, and forgetting would not reach them. A host keeps checkpoints elsewhere and erases them
//     itself. What they hold of memory are the answers of tools, and ids; and what a model was shown if it is the model that
//     interrupts.
//   - What the model writes by memory_remember is about the subjects that it names, and about no others.
//
// # Instructions with braces
//
// Where a session has values, eino formats an agent's instruction as an f-string. The token is one. So an agent
// whose instruction has braces, and that comes after another one in a session, needs a GenModelInput of its own.
//
// # Concurrency
//
// A Memory serves any number of agents and calls at once. A [Run] is one execution, whose agents and tools may
// work in parallel.
package eino
