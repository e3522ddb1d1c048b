module github.com/openwop/agentmemory/memory/mysql

go 1.26.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/openwop/agentmemory v0.0.0
	github.com/openwop/agentmemory/internal/testkit v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/gowebpki/jcs v1.0.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace (
	github.com/openwop/agentmemory => ../..
	github.com/openwop/agentmemory/internal/testkit => ../../internal/testkit
)
