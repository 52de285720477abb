package search

import (
	"os"
	"runtime/debug"
	"sync"
)

// While searches run the heap may grow further than Go lets it: a search makes about
// a gigabyte a second of states that it looks at once, beside little that it keeps,
// and with Go's own setting the collector takes the larger part of a core. It waits
// until the process comes near roomLimit bytes: three quarters of the 1 GB that a search
// may take. Whoever sets GOGC or GOMEMLIMIT knows better.
const roomLimit = 768 << 20

var room struct {
	sync.Mutex
	searches       int
	percent        int
	limit          int64
	leave, checked bool
}

// roomy gives the heap room until the function it returns is called. Searches may
// overlap: the last one restores what was.
func roomy() (restore func()) {
	room.Lock()
	defer room.Unlock()
	if !room.checked {
		room.checked = true
		room.leave = os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != ""
	}
	if room.leave {
		return func() {}
	}
	if room.searches++; room.searches == 1 {
		room.percent = debug.SetGCPercent(-1)
		room.limit = debug.SetMemoryLimit(roomLimit)
	}
	return func() {
		room.Lock()
		defer room.Unlock()
		if room.searches--; room.searches == 0 {
			debug.SetGCPercent(room.percent)
			debug.SetMemoryLimit(room.limit)
		}
	}
}
