module github.com/openwop/agentmemory/examples/tokenizer

go 1.26.0

require (
	github.com/openwop/agentmemory v0.0.0
	github.com/tiktoken-go/tokenizer v0.10.0
)

require (
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/gowebpki/jcs v1.0.2 // indirect
)

replace github.com/openwop/agentmemory => ../..
