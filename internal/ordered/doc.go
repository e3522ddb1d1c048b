// Package ordered has a list that keeps its items in order as they come and go.
package ordered
