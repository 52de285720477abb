package tune

import (
	"context"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
	"github.com/protuner/protuner/internal/search"
)

// allWork builds and runs whatever it is given, at once.
type allWork struct{}

func (allWork) Build(context.Context, schedule.Schedule, measure.Protocol, time.Duration) (measure.Artifact, error) {
	return allWork{}, nil
}

func (allWork) Whole(context.Context, schedule.Schedule, measure.Protocol) error { return nil }

func (allWork) Run(context.Context, measure.Artifact, measure.Protocol, time.Duration) (*bridge.Run, error) {
	return &bridge.Run{Samples: []time.Duration{time.Millisecond}}, nil
}

func (allWork) Drop() {}

// listed proposes schedules one after the other.
type listed struct {
	deaf
	left []search.Candidate
}

func (l *listed) Propose(_ context.Context, n int) ([]search.Candidate, error) {
	n = min(n, len(l.left))
	out := l.left[:n]
	l.left = l.left[n:]
	return out, nil
}

// Where the first were all wrong those on their way decide: if one of them is right the search
// goes on with what it has left, and otherwise nothing more is proposed. A run that goes on from
// where they were on their way tries them again.
func TestThoseOnTheirWayDecide(t *testing.T) {
	const onTheirWay, more = manyWrong + 1, 5
	wrong, right := measure.Result{Status: measure.WrongOutput}, measure.Result{Status: measure.OK, Samples: []time.Duration{time.Millisecond}}
	for _, c := range []struct {
		last     measure.Result
		measured int
		allWrong bool
		recalled int // of the wrong ones, by a run that goes on
	}{{right, onTheirWay + more, false, 0}, {wrong, onTheirWay, true, 0}, {right, onTheirWay - manyWrong + more, false, manyWrong}} {
		_, rec := recorder(t)
		u := &tuner{o: valid(), recorder: rec, report: &Report{Failures: map[measure.Status]int{}}, began: time.Now()}
		u.o.Threads = 1
		u.pipe = &pipeline.Pipeline{Params: []pipeline.Param{{Name: "input", Type: "uint8", Buffer: true}}}
		u.inputs = []bridge.Input{{Name: "input", Fill: "random:0"}}
		work, cancel := context.WithCancel(t.Context())
		defer cancel()
		strategy := &listed{}
		u.wrong = c.recalled
		coming := onTheirWay // and what is known by now is not
		if c.recalled > 0 {
			coming = 0
		}
		for i := range onTheirWay - c.recalled + more {
			s := numbered(i + 1)
			strategy.left = append(strategy.left, search.Candidate{Schedule: s, Hash: s.Hash()})
		}
		d := &dispatcher{
			t: u, strategy: strategy, screener: measure.NewScreener(allWork{}, allWork{}, u.o.Protocol, 0), work: work, cancel: cancel,
			results: make(chan measured, onTheirWay), running: coming,
		}
		for i, s := range strategy.left[:coming] {
			m := measured{s, wrong, nil}
			if i == onTheirWay-1 {
				m.result = c.last
			}
			d.results <- m
		}
		strategy.left = strategy.left[coming:]
		if err := d.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if u.report.Measured != c.measured || u.allWrong() != c.allWrong {
			t.Errorf("the last of them %v: %d measured, not %d; all wrong: %v", c.last.Status, u.report.Measured, c.measured, u.allWrong())
		}
	}
}
