// Package memory is the OpenWOP agent-memory layer over a store.
package memory
