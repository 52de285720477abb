// Package report turns studies into what people read: progress, a summary, a
// plot, and a Result for other programs.
package report

import (
	"cmp"
	"context"
	"slices"

	"github.com/protuner/protuner/bayes"
)

// Result is what a run found; its JSON form is what `protuner optimize --json`
// prints.
type Result struct {
	Study     string         `json:"study,omitempty"`
	Store     string         `json:"store,omitempty"` // the file the study lies in
	Method    string         `json:"method,omitempty"`
	Seed      int64          `json:"seed"`
	Objective string         `json:"objective,omitempty"`
	Maximize  bool           `json:"maximize,omitempty"`
	Stop      bayes.Stop     `json:"stop"`    // why the run ended
	Earlier   int            `json:"earlier"` // trials that earlier runs had finished
	Statuses  map[string]int `json:"statuses"`
	Best      *bayes.Trial   `json:"best,omitempty"`
	Command   []string       `json:"command,omitempty"` // that evaluates the best again
	// History is the trials that were the best when they were told, by ID.
	History    []bayes.Trial      `json:"history"`
	Failures   []Failure          `json:"failures,omitempty"`
	Importance []bayes.Importance `json:"importance,omitempty"`
	Trials     []bayes.Trial      `json:"trials"`
}

// Failure is one way to fail and how often it happened.
type Failure struct {
	Status  bayes.Status `json:"status"`
	Message string       `json:"message"`
	Count   int          `json:"count"`
	First   int          `json:"first"` // trial
}

// Collect fills a Result with what the study holds. Importance stays empty
// where it cannot be estimated: there are too few values, drawing
// configurations gives up, or ctx ends before.
func Collect(ctx context.Context, s *bayes.Study, r Result) *Result {
	o := s.Options()
	r.Seed, r.Maximize = o.Seed, o.Maximize
	r.Trials, r.Statuses = s.Trials(), map[string]int{}
	trace := s.Trace()
	for i, t := range r.Trials {
		r.Statuses[t.Outcome.Status.String()]++
		switch {
		case t.Outcome.Status == bayes.OK && t.Outcome.Value == trace[i] && (i == 0 || trace[i-1] != trace[i]):
			r.History = append(r.History, t)
		case t.Outcome.Status.Failed(), t.Outcome.Status == bayes.Lost:
			r.fail(t)
		}
	}
	slices.SortStableFunc(r.Failures, func(a, b Failure) int { return cmp.Compare(b.Count, a.Count) })
	if t, ok := s.Best(); ok {
		r.Best = &t
	}
	if list, err := s.Importance(ctx); err == nil {
		r.Importance = list
	}
	return &r
}

func (r *Result) fail(t bayes.Trial) {
	for i := range r.Failures {
		if f := &r.Failures[i]; f.Status == t.Outcome.Status && f.Message == t.Outcome.Message {
			f.Count++
			return
		}
	}
	r.Failures = append(r.Failures, Failure{t.Outcome.Status, t.Outcome.Message, 1, t.ID})
}

// Finished is the number of trials that have an outcome.
func (r *Result) Finished() int { return len(r.Trials) - r.Statuses[bayes.Pending.String()] }
