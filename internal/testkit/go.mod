module github.com/openwop/agentmemory/internal/testkit

go 1.26.0

require (
	github.com/openwop/agentmemory v0.0.0
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect

replace github.com/openwop/agentmemory => ../..
