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
// behind each time. A store may keep some for the next call, as a pool does. What seems to be left is
// looked for a second time, since the process may do other things beside.
func (w *world) leavesNothing(n int, what string, do func(i int)) {
	goroutines, files := 0, 0
	for range 2 {
		w.quietly(what, func() {
			goroutines, files = growth(w.ctx, n/5, func() {
				for i := range n {
					do(i)
				}
			})
		})
		if max(goroutines, files) < n/5 {
			return
		}
	}
	w.fail("nothing left behind", fmt.Sprintf("%d goroutines and %d files more", goroutines, files))
}

// growth does something, and returns by how much the resources have grown when they have settled
// below a bound, or have not in time.
func growth(ctx context.Context, bound int, do func()) (goroutines, files int) {
	goroutinesBefore, filesBefore := resources()
	do()
	settled, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		goroutines, files = resources()
		goroutines, files = goroutines-goroutinesBefore, files-filesBefore
		if max(goroutines, files) < bound || settled.Err() != nil {
			return goroutines, files
		}
		tick, done := context.WithTimeout(settled, settleTime/100)
		<-tick.Done()
		done()
	}
}

// leftBehind is how often each method is called. One loop in four is left, which are more than may stay.
const leftBehind = 48

// sweepResources calls every method, under contexts that last and such as end under way, and leaves loops.
func sweepResources(w *world, all []method) {
	x := w.prepareMethods()
	for _, m := range all {
		w.leavesNothing(leftBehind, fmt.Sprintf("call %s %d times, under contexts that last or end under way", m.name, leftBehind), func(i int) {
			x.ctx, x.each = w.ctx, func(int) bool { return i%4 != 0 }
			if i%2 == 1 {
				x.ctx = fadingAfter(w.ctx, i/2%2)
			}
			m.call(w, x)
		})
	}
	w.unmirrored() // some have happened and some have not
}
