// Package adk gives the agents of Google's adk-go (google.golang.org/adk/v2) a long-term memory: a memory.Service over a
// bank, a plugin that recalls before the model answers, and a tool by which the model deletes.
//
//	mem, err := adk.New(adk.Config{Bank: bank, Secrets: secrets, RecallTokens: 1000,
//		Place: func(app, user string) adk.Place { return adk.Place{Tenant: app, Ref: user} }})
//	agent, err := llmagent.New(llmagent.Config{Name: "assistant", Model: model, Tools: []tool.Tool{loadmemorytool.New(), mem.Tool()}})
//	r, err := runner.New(runner.Config{AppName: "app", Agent: agent, SessionService: sessions, MemoryService: mem.Service(),
//		PluginConfig: runner.PluginConfig{Plugins: []*plugin.Plugin{mem.Plugin()}}})
//	… // after an invocation, or at the end of a session
//	err = mem.Service().AddSessionToMemory(ctx, session)
//
// # What it does
//
//   - AddSessionToMemory stores what the user and the agents have said, an entry for each event with text, as old as the
//     event. Thoughts, calls of tools and their results are not stored.
//   - SearchMemory, and so ADK's load_memory, returns the entries that answer a question, as many of the best as
//     Config.RecallTokens holds.
//   - The plugin starts a run for each invocation, and puts before each call of the model the entries that answer the user,
//     within Config.RecallTokens, between two lines that no entry can contain, and calls them data. They stand in the request
//     only, and in no event of the session.
//   - The tool forget_memory deletes one entry.
//
// # Guarantees
//
//   - CTI-1: Config.Place says whose memory an app's user has; no message and no argument of a tool does.
//   - SR-1: what is stored passes the redactor that Config.Secrets opens for the session, and so does every question.
//   - M6: what an invocation recalls is the view of its run, which does not move. What the tool has deleted stays gone.
//   - M8: an event is stored once, however often its session is added, and does not come back after it was deleted.
//   - M10: an entry has the subject "session:" with the session's id, as [Subject] makes it. What a model has said is also under the
//     subjects of all entries that its invocation was shown until then, and lives no longer than any of them; if one has ended,
//     it is not stored.
//   - S5: an entry is left out, never cut.
//
// # What it does not do
//
//   - The session service is ADK's: it holds what was said with all secrets, and what load_memory has returned, which later
//     invocations of the session are shown again. Neither forgetting nor expiry reaches it. A host that forgets a subject
//     deletes its sessions too, since a session that is added again is stored again. What the plugin shows is in no session.
//   - An invocation that is resumed has a new run, and so a new view.
//   - A tool that starts a runner of its own, as ADK's agent tool does, has no run of this plugin; what it recalls is live memory.
//
// All of it is safe for concurrent use.
package adk
