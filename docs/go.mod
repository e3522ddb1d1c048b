module github.com/openwop/agentmemory/docs

go 1.26.0
