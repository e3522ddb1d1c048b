package main
import ("testing";"runtime/debug")
func TestProf(t *testing.T) {
	debug.SetGCPercent(-1)
	for _, r := range storeRows() { if r.name == "store/view+put" { s, _ := r.setup(); for range 15 { collect(); for range 16 { s.ours(20000) } } } }
}
