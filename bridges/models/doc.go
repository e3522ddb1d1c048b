// Package models takes facts out of conversations by a host's language model, see [Extractor], and lets one work for the
// engines of agent memory: it decides what says the same (consolidate), finds what is to be done and when (commitment),
// condenses (distill), finds by meaning (consolidate, recall) and in other words (recall).
//
//	client := sdk.NewClient()
//	m, err := models.New(models.Config{Model: anthropic.New(client, "claude-sonnet-5-5"), Calls: account})
//	…
//	c, err := consolidate.New(consolidate.Config{Merger: m.Merger()})
//	result, err := c.Run(models.WithRedactor(ctx, secrets), job, ref, consolidate.Options{})
//
// Packages anthropic and openai below this one are models over the two SDKs; the latter speaks to
// local servers too. A host with another one implements [Model], which is one call.
//
// # What a model is told
//
// The prompts are the files in prompts/, with a JSON schema each, and a digest of both is in every
// Version. So an entry is asked about again, and an archive is another one, when a prompt or the
// name of the model changes.
//
// Text of memory stands between lines that carry a digest of it, and the system prompt says that
// what is between them is data. The digest is drawn again if it occurs in the text, so no text can
// write the line that ends it. The prompt is a function of what it is made from: the same entries
// give the same bytes. That a model keeps to it is not relied upon anywhere.
//
// No prompt holds a secret that is registered (SR-1). Distillation and recall redact before they
// ask. Consolidation and commitments hand over entries as they were stored, perhaps before a secret
// became known, and messages come as they were said: so the context must carry a redactor, see [WithRedactor], and
// without one nothing is asked. A prompt holds text of one pass, and so of one tenant (CTI-1).
//
// # What a model may do
//
// An answer is JSON of the schema, read strictly, of at most a mebibyte, and then judged by the
// engines: a merged text must have every fact of its sources and no other (C8), what is stored is
// redacted as derived text (R5), an arm must be one that the engine admits, and a fact must say nothing that its messages do
// not say. One entry is in a prompt for commitments, and the model names none, so what an entry says has no influence on
// another's arms. So it is with other words, which are erased with their entry and must hold nothing of another one. A
// summary names its sources by their number; each line of it that they do not say is left out.
//
// What a model writes of one text is never the reason why a pass stops, since then a single entry
// could keep the others from being looked at. If it refuses, or its answer cannot be used, the
// entries of a group stay as they are; an entry has no arms and is reported as unread; it is said in no other
// words; a summary is that of [distill.Extractive]. Config.Calls tells the host. A model that cannot be reached stops
// the pass with an error, and the next pass goes on. So do vectors that cannot be used: they come
// for several texts at once, and one that is refused stops the pass over vectors of its ref each time.
//
// # Expiry and crashes
//
// A model takes its time, in which notes expire. What it makes of them is committed only while they are live: a text
// that was to take the place of a group is not written, a summary is asked for again from what lives on, an intention fires
// nothing, and a vector finds nothing. What was made in time ends with its sources, as the engines have it: a merged
// text at their instant, a summary by distill's retention, or with its sources if the host asks for that.
//
// While a model answers nothing is written but who is working, by a lease that ends. So a process that is
// killed meanwhile leaves what it had committed before and nothing else. The next pass does what that one did
// not, and one that finds it done asks no model and writes nothing.
//
// # No Planner
//
// There is no Planner. One by a model would have to see a whole ref at once, and could gain nothing by it:
// a group that says the same is found by [consolidate.Similar], with vectors if there are any, and
// put to the Merger; and superseding takes a declared slot (C8), which
// [consolidate.Rules] reads exactly.
//
// # Errors
//
// Errors are of type [*Error]: they match memory.ErrInternal and have a code. None holds text of a
// prompt or of an answer; what the SDK said, which may quote both, is reachable by errors.Unwrap. An error
// of the context is returned as it is. Everything here is safe for concurrent use.
package models
