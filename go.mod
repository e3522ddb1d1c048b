module github.com/openwop/agentmemory

go 1.26.0
