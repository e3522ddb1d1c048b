// Package anthropic is the handler that anthropic-sdk-go lacks for Anthropic's memory tool: it
// answers the tool's commands from an agent's memory, which is redacted, isolated by tenant and
// can be forgotten.
//
//	params.Tools = []sdk.BetaToolUnionParam{{OfMemoryTool20250818: &sdk.BetaMemoryTool20250818Param{}}}
//	message, err := client.Beta.Messages.New(ctx, params)
//	…
//	results := anthropic.Results(ctx, files, message)
//	if len(results) > 0 { // go on with message.ToParam() and sdk.NewBetaUserMessage(results...)
//
// The commands themselves are in package memorytool, which does not need the SDK.
package anthropic
