package adaptertest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"
)

// resources are how many goroutines and open files a process has. A connection is a file. Where
// the files of a process are not listed, there are none.
func resources() (goroutines, files int) {
	open, _ := os.ReadDir("/dev/fd")
	return runtime.NumGoroutine(), len(open)
}

// settleTime is how long what a call has left behind may take to end.
const settleTime = 2 * time.Second

// leavesNothing does something n times, one behind the other, and expects that nothing is left
// behind each time. A store may keep some for the next call, as a pool does.
func (w *world) leavesNothing(n int, what string, do func(i int)) {
	goroutines, files := resources()
	w.quietly(what, func() {
		for i := range n {
			do(i)
		}
	})
	settled, cancel := context.WithTimeout(w.ctx, settleTime)
	defer cancel()
	for {
		nowGoroutines, nowFiles := resources()
		if nowGoroutines-goroutines < n/4 && nowFiles-files < n/4 {
			return
		}
		if settled.Err() != nil {
			w.fail("nothing left behind", fmt.Sprintf("%d goroutines and %d files more", nowGoroutines-goroutines, nowFiles-files))
		}
		tick, done := context.WithTimeout(settled, settleTime/100)
		<-tick.Done()
		done()
	}
}

// sweepResources calls every method, under contexts that last and such as end under way.
func sweepResources(w *world, a *ability) {
	x := w.prepareMethods()
	for _, m := range a.methodsOf(w) {
		w.leavesNothing(leftLoops, fmt.Sprintf("call %s %d times, under contexts that last or end under way", m.name, leftLoops), func(i int) {
			ctx := w.ctx
			if i%2 == 1 {
				ctx = fadingAfter(w.ctx, i/2%2)
			}
			w.try(ctx, m, x)
		})
	}
	w.unmirrored() // some have happened and some have not
}
