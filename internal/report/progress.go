package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/tune"
)

// Progress shows how a run goes: one line that is rewritten on a terminal, plain
// lines elsewhere.
type Progress struct {
	mu    sync.Mutex
	w     io.Writer
	live  bool
	shown int       // characters of the live line
	last  time.Time // when a plain line was written
	start time.Time
}

// plainEvery is how often a log that nobody watches gets a line without news.
const plainEvery = 15 * time.Second

// NewProgress writes to a file, which may be a terminal.
func NewProgress(f *os.File) *Progress {
	return &Progress{w: f, live: isatty.IsTerminal(f.Fd()), start: time.Now()}
}

// Close ends the live line.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *Progress) clear() {
	if p.shown > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}

// line writes something that stays.
func (p *Progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(p.w, "[%6.1fs] %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
	p.last = time.Now()
}

// status shows where things stand: at once on a terminal, now and then elsewhere.
func (p *Progress) status(text string) {
	if !p.live {
		if time.Since(p.last) >= plainEvery {
			p.line("%s", text)
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprint(p.w, text)
	p.shown = len(text)
}

// Events are what a run reports to.
func (p *Progress) Events() tune.Events {
	phases := map[string]string{
		"describing":   "compiling and describing the Generator",
		"reference":    "computing the reference",
		"seeds":        "asking the other schedulers",
		"modelling":    "asking the model",
		"checking":     "comparing results with the reference's",
		"searching":    "searching",
		"racing":       "racing the finalists",
		"specializing": "racing the best with and without a version for the estimated sizes",
		"building":     "building the winner ahead of time",
		"baselines":    "making the baselines",
		"final race":   "final race in fresh processes",
		"writing":      "writing files",
	}
	return tune.Events{
		Phase: func(name string) { p.line("%s", phases[name]) },
		Note:  func(text string) { p.line("%s", text) },
		Measured: func(m tune.Progress) {
			if m.Improved {
				p.line("best so far %s after %d schedules, by %s", Duration(m.Best), m.Done, m.Origin)
			}
			p.status(measuredLine(m))
		},
		Baseline: func(name string, took time.Duration, err error) {
			if err != nil {
				p.line("%s: %s", name, oneLine(err.Error()))
				return
			}
			p.line("%s: made in %v", name, took.Round(100*time.Millisecond))
		},
		Round: func(done, most int) { p.status(fmt.Sprintf("round %d of at most %d", done, most)) },
	}
}

func measuredLine(m tune.Progress) string {
	rate := 0.0
	if s := m.Elapsed.Seconds(); s > 0 {
		rate = float64(m.Done) / s * 60
	}
	left := max(m.Budget-m.Elapsed, 0).Round(time.Second)
	text := fmt.Sprintf("best %s | %d measured, %.0f a minute | %v left", Duration(m.Best), m.Done, rate, left)
	if len(m.Failures) > 0 {
		text += " | " + Failures(m.Failures)
	}
	if m.Status == measure.OK {
		text += " | last " + Duration(m.Seconds)
	}
	return text
}
