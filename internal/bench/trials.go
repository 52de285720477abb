package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/tune"
)

// batch is how many samples Halide's loop takes before it fits its model again.
const batch = 32

// trial is one schedule that a loop asks another scheduler for.
type trial struct {
	scheduler string
	params    []bridge.Param
	outputs   []string
}

// tried is what became of it.
type tried struct {
	dir     string
	err     error
	seconds float64 // 0 where it failed
}

// tryMany makes trials on all cores, some at a time, and times those alone, until the
// budget is spent or there were most of them (0: no bound), and keeps the fastest in
// the job's folder. after, unless nil, sees each whole batch. What was made of the
// first ones is timed even where the budget is over by then.
func (j *job) tryMany(ctx context.Context, most int, propose func(n int) trial, after func(context.Context, []tried) error) (*made, error) {
	ends := time.Now().Add(j.budget)
	within, cancel := context.WithDeadline(ctx, ends)
	defer cancel()
	folder := filepath.Join(j.dir, "trials")
	best := tried{}
	var last error
	var whole []tried // of the batch so far
	n, timed := 0, 0
	for (most == 0 || n < most) && within.Err() == nil {
		size := min(sizeOfRound(j.o.Threads), batch-n%batch)
		if most > 0 {
			size = min(size, most-n)
		}
		round := j.makeTrials(within, ends, n, size, folder, propose)
		n += size
		for i := range round {
			t := &round[i]
			if t.err == nil && (timed == 0 || within.Err() == nil) {
				t.seconds, t.err = j.time(ctx, t.dir, best.seconds)
			}
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case t.err != nil:
				if !cutOff(t.err) {
					last = t.err
				}
			case t.seconds > 0:
				if timed++; best.seconds == 0 || t.seconds < best.seconds {
					best = *t
				}
			}
		}
		if whole = append(whole, round...); after != nil && len(whole) == batch && within.Err() == nil {
			if err := after(within, whole); err != nil && within.Err() == nil {
				return nil, err
			}
		}
		if n%batch == 0 || within.Err() != nil {
			for _, t := range whole {
				if t.dir != best.dir {
					os.RemoveAll(t.dir)
				}
			}
			whole = nil
		}
	}
	if best.seconds == 0 {
		if last == nil {
			return nil, &bridge.LimitError{Limit: "time", Value: j.budget.String()}
		}
		return nil, last
	}
	if err := moveFiles(best.dir, j.dir); err != nil {
		return nil, err
	}
	m := &made{measured: timed}
	if n < most {
		m.short("%d of %d samples were begun in %v", n, most, j.budget)
	}
	return m, os.RemoveAll(folder)
}

// cutOff says that a trial did not end in time, which is all that the budget's end comes to:
// why others failed says more.
func cutOff(err error) bool {
	var limit *bridge.LimitError
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &limit) && limit.Limit == "time"
}

// sizeOfRound is how many trials are made before they are timed: enough to keep all
// cores at work, and few beside what a budget has room for.
func sizeOfRound(threads int) int { return min(4*threads, batch) }

// makeTrials makes so many from the n-th on, each in a folder of its own.
func (j *job) makeTrials(ctx context.Context, ends time.Time, n, size int, folder string, propose func(int) trial) []tried {
	out := make([]tried, size)
	var group errgroup.Group
	group.SetLimit(j.o.Threads)
	for i := range out {
		t := propose(n + i)
		out[i].dir = filepath.Join(folder, fmt.Sprint(n+i))
		group.Go(func() error {
			out[i].err = j.try(ctx, t, out[i].dir, time.Until(ends))
			return nil
		})
	}
	_ = group.Wait() // each failure is its own trial's
	return out
}

// try makes one build.
func (j *job) try(ctx context.Context, t trial, dir string, left time.Duration) error {
	if left <= 0 {
		return context.DeadlineExceeded
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	e := bridge.Emission{Dir: dir, Function: j.gen.Name, Outputs: t.outputs}
	return j.gen.Emit(ctx, t.scheduler, t.params, bridge.Limits{Time: left, Memory: j.limits.Memory}, e)
}

// time runs a build alone; best is the fastest so far. What other schedulers make may be
// good for the estimated size only, which is what counts here.
func (j *job) time(ctx context.Context, dir string, best float64) (float64, error) {
	library, err := j.gen.Toolchain.Library(ctx, filepath.Join(dir, j.gen.Name+".a"), dir)
	if err != nil {
		return 0, err
	}
	var lap time.Duration
	err = j.lock.With(ctx, func() (err error) {
		lap, err = j.stage.fresh(library, true).Lap(ctx, j.stage.protocol.Run(time.Duration(best*float64(time.Second))))
		return err
	})
	return lap.Seconds(), err
}

// moveFiles moves what is in one folder into another.
func moveFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// retrainer is the second half of Halide's autotune loop: the model is fitted to all
// samples so far, by the programs that come with Halide.
type retrainer struct {
	j       *job
	weights string // of the last fit; empty: the shipped ones
	samples []string
	n       int
}

// epochs and rate are those of the script.
const (
	epochs = batch
	rate   = "0.0001"
)

// learn turns a batch's features and times into samples and fits the model to all.
func (r *retrainer) learn(ctx context.Context, round []tried) error {
	bin := filepath.Join(r.j.gen.Toolchain.Halide.Root, "bin")
	folder := filepath.Join(r.j.dir, "samples")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, t := range round {
		r.n++
		if t.seconds == 0 {
			continue
		}
		sample := filepath.Join(folder, fmt.Sprintf("%d.sample", r.n))
		features := filepath.Join(t.dir, r.j.gen.Name+".featurization")
		cmd := exec.Command(filepath.Join(bin, "featurization_to_sample"), features, fmt.Sprint(t.seconds), "0", fmt.Sprint(r.n), sample)
		if words, err := bridge.CombinedOutput(ctx, cmd); err != nil {
			return fmt.Errorf("featurization_to_sample of Halide: %w: %s", err, bridge.LastLine(words))
		}
		r.samples = append(r.samples, sample)
	}
	if len(r.samples) == 0 {
		return nil
	}
	if r.weights == "" { // the program begins from a file
		shipped, err := tune.ReadWeights(r.j.gen.Toolchain.Halide, r.j.o.Weights)
		if err != nil {
			return err
		}
		r.weights = filepath.Join(folder, "shipped.weights")
		if err := os.WriteFile(r.weights, shipped.Append(nil), 0o644); err != nil {
			return err
		}
	}
	weights := filepath.Join(folder, "retrained.weights")
	args := []string{"--initial_weights=" + r.weights, "--epochs=" + fmt.Sprint(epochs), "--rates=" + rate, fmt.Sprintf("--num_cores=%d", r.j.o.Threads), "--weights_out=" + weights,
		"--best_benchmark=" + filepath.Join(folder, "best.txt"), "--best_schedule=" + filepath.Join(folder, "best.schedule.h")}
	cmd := exec.Command(filepath.Join(bin, "adams2019_retrain_cost_model"), args...)
	cmd.Stdin = strings.NewReader(strings.Join(r.samples, "\n") + "\n")
	if words, err := bridge.CombinedOutput(ctx, cmd); err != nil {
		return fmt.Errorf("adams2019_retrain_cost_model of Halide: %w: %s", err, bridge.LastLine(words))
	}
	r.weights = weights
	return nil
}
