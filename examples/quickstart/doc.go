// Command quickstart reads the notes of a support agent, bundled as JSON Lines,
// and reports how many there are.
package main
