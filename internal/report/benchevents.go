package report

import (
	"os"
	"strings"
	"time"

	"github.com/protuner/protuner/internal/bench"
	"github.com/protuner/protuner/internal/measure"
)

// BenchEvents tells on a file how a comparison goes, a line for each thing done.
func BenchEvents(f *os.File) bench.Events {
	p := NewProgress(f)
	return bench.Events{
		Begun: func(what, how string) { p.line("%s: %s", what, how) },
		Note:  func(text string) { p.line("%s", oneLine(text)) },
		Made: func(m bench.Made) {
			if m.Status == measure.OK {
				p.line("%s: %s made in %v", m.Part, m.Method, m.Took.Round(100*time.Millisecond))
				return
			}
			p.line("%s: %s %s: %s", m.Part, m.Method, strings.ReplaceAll(m.Status.String(), "_", " "), oneLine(m.Message))
		},
	}
}
