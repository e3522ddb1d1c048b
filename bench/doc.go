// Command bench measures agentmemory against well-known libraries that do the
// same work, side by side in one process. README.md says how to read its table.
package main
