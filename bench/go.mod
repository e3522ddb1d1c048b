module github.com/openwop/agentmemory/bench

go 1.26.0

require github.com/openwop/agentmemory v0.0.0

require (
	github.com/BobuSumisu/aho-corasick v1.0.3
	github.com/google/btree v1.1.3
	github.com/tiktoken-go/tokenizer v0.10.0
)

require (
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/gowebpki/jcs v1.0.2 // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
)

replace github.com/openwop/agentmemory => ../
