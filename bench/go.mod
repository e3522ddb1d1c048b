module github.com/openwop/agentmemory/bench

go 1.26.0

require github.com/openwop/agentmemory v0.0.0

require github.com/google/btree v1.1.3

replace github.com/openwop/agentmemory => ../
