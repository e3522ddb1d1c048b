module github.com/openwop/agentmemory/internal/testkit/release

go 1.26.0

require (
	golang.org/x/exp v0.0.0-20261014143641-f0251eb4aa3e
	golang.org/x/mod v0.42.0
)

require golang.org/x/tools v0.52.0 // indirect
