module github.com/openwop/agentmemory/examples/customstore/boltstore

go 1.26.0

require (
	github.com/openwop/agentmemory v0.0.0
	go.etcd.io/bbolt v1.5.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/gowebpki/jcs v1.0.2 // indirect
	golang.org/x/sys v0.45.0 // indirect
)

replace github.com/openwop/agentmemory => ../../..
