package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"runtime/debug"
)

func cpu() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

func TestZZ(t *testing.T) {
	debug.SetGCPercent(400)
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n > 0 {
		es, again := paraphrased(n)
		c := cpu()
		similar(es)
		fmt.Printf("n=%d similar cpu %.2f = %.0f /s\n", n, cpu()-c, float64(n)/(cpu()-c))
		if os.Getenv("CHECK") != "" {
			fmt.Println(checkNearest(es, again))
		}
		return
	}
	for _, w := range worstInputs {
		es := entriesOf(w.texts())
		c := cpu()
		g := similar(es)
		d := cpu()
		planned(es)()
		f := guarded(es)
		e := cpu()
		f()
		fmt.Printf("%s similar cpu %.2f plan %.2f guard %.2f groups %d\n", w.name, d-c, e-d, cpu()-e, len(g))
	}
}
