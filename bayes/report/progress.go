package report

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-isatty"

	"github.com/protuner/protuner/bayes"
)

// Progress shows how a run goes: one line that is rewritten on a terminal,
// plain lines elsewhere.
type Progress struct {
	mu       sync.Mutex
	w        io.Writer
	live     bool
	start    time.Time
	last     time.Time // when a plain line was written
	shown    int       // characters of the live line
	best     int       // trial
	statuses map[string]int
	failures map[string]bool // that were shown
	done     int
	trials   int
}

const (
	// plainEvery is how often a log that nobody watches gets a line without news.
	plainEvery = 15 * time.Second
	// failuresShown is how many different failures are shown as they happen.
	failuresShown = 5
)

// NewProgress writes to a file, which may be a terminal. Trials is the number
// the study is to have, 0 if there is no bound; known those it has.
func NewProgress(f *os.File, trials int, known []bayes.Trial) *Progress {
	return newProgress(f, isatty.IsTerminal(f.Fd()), trials, known)
}

func newProgress(w io.Writer, live bool, trials int, known []bayes.Trial) *Progress {
	p := &Progress{w: w, live: live, trials: trials, start: time.Now(), statuses: map[string]int{}, failures: map[string]bool{}}
	for _, t := range known {
		if t.Outcome.Status != bayes.Pending {
			p.done++
			p.statuses[t.Outcome.Status.String()]++
		}
	}
	return p
}

// Close ends the live line.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// Note writes a line that stays.
func (p *Progress) Note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(format, args...)
}

// Trial is told of each trial that has an outcome, and of the best so far; it is
// a bayes.RunOptions.OnTrial.
func (p *Progress) Trial(t, best bayes.Trial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.statuses[t.Outcome.Status.String()]++
	switch {
	case best.ID != 0 && best.ID == t.ID:
		p.best = best.ID
		p.line("trial %d: best so far %s  (%s)", t.ID, number(t.Outcome.Value), t.Config)
	case t.Outcome.Status != bayes.OK:
		what := fmt.Sprintf("%s: %s", t.Outcome.Status, t.Outcome.Message)
		if !p.failures[what] && len(p.failures) < failuresShown {
			p.failures[what] = true
			p.line("trial %d %s  (%s)", t.ID, what, t.Config)
		}
	}
	p.status(t, best)
}

func (p *Progress) status(t, best bayes.Trial) {
	text := fmt.Sprintf("%d", p.done)
	if p.trials > 0 {
		text += fmt.Sprintf(" of %d", p.trials)
	}
	if best.ID != 0 {
		text += fmt.Sprintf(" | best %s, trial %d", number(best.Outcome.Value), best.ID)
	}
	text += " | " + Statuses(p.statuses)
	if t.Outcome.Status == bayes.OK {
		text += " | last " + number(t.Outcome.Value)
	}
	if p.live {
		p.clear()
		fmt.Fprint(p.w, text)
		p.shown = len(text)
	} else if time.Since(p.last) >= plainEvery {
		p.line("%s", text)
	}
}

func (p *Progress) clear() {
	if p.shown > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.shown))
		p.shown = 0
	}
}

func (p *Progress) line(format string, args ...any) {
	p.clear()
	fmt.Fprintf(p.w, "[%6.1fs] %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
	p.last = time.Now()
}
