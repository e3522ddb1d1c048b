package anthropic

import (
	"context"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/openwop/agentmemory/bridges/anthropic/memorytool"
)

// ToolName is the name by which a model calls the memory tool.
const ToolName = "memory"

// Results answers the calls of the memory tool in a message, in their order, one tool_result each.
// It is empty if there are none. Calls of other tools are the caller's.
func Results(ctx context.Context, files *memorytool.Files, message *sdk.BetaMessage) []sdk.BetaContentBlockParamUnion {
	var results []sdk.BetaContentBlockParamUnion
	for i := range message.Content {
		call, ok := message.Content[i].AsAny().(sdk.BetaToolUseBlock)
		if !ok || call.Name != ToolName {
			continue
		}
		text, failed := files.Do(ctx, []byte(call.JSON.Input.Raw()))
		results = append(results, sdk.NewBetaToolResultBlock(call.ID, text, failed))
	}
	return results
}
