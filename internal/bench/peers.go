package bench

import (
	"context"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"

	"github.com/protuner/protuner/internal/bridge"
)

// peerBuilds are the outputs of another scheduler's build.
var peerBuilds = []string{"static_library", "c_header", "schedule"}

// peers are the schedulers that are not ours, by name.
func peers() map[string]method {
	adams := func(env []string, params ...bridge.Param) func(context.Context, *job) (*made, error) {
		// Its schedules unroll loops of reductions without constant extents; nl_means' does
		// not compile otherwise.
		return peer("adams2019", append([]string{bridge.PermitUnroll}, env...), params...)
	}
	return map[string]method{
		"expert":        {make: expert},
		"mullapudi2016": {make: peer("mullapudi2016", nil)},
		"li2018":        {make: peer("li2018", nil)},
		// As shipped: a beam of 32 in five passes.
		"adams2019:beam":   {make: adams(nil)},
		"adams2019:greedy": {make: adams(nil, bridge.Param{Name: "beam_size", Value: "1"})},
		// Without coarse-to-fine refinement, and a wider beam for as much work (Adams et
		// al., section 6.3).
		"adams2019:beam160": {make: adams([]string{"HL_NUM_PASSES=1"}, bridge.Param{Name: "beam_size", Value: "160"})},
		// Without nested tiling. What it remembers of a Func's tasks holds then whatever was
		// inside the loops, so that it crashes on many applications unless it forgets them.
		"adams2019:no_subtiling": {make: adams(nil, bridge.Param{Name: "disable_subtiling", Value: "1"}, bridge.Param{Name: "disable_memoized_blocks", Value: "1"})},
		// 32 benchmarked samples, and the loop with retraining for as long as the budget
		// lasts (their section 4.3 and figure 8).
		"adams2019:samples32":    {random: true, alone: true, make: adamsLoop(batch, false)},
		"adams2019:autotune":     {random: true, alone: true, make: adamsLoop(0, true)},
		"mullapudi2016:autotune": {random: true, alone: true, make: mullapudiLoop},
	}
}

// PeerNames lists the methods that are not ours.
func PeerNames() []string { return slices.Sorted(maps.Keys(peers())) }

// expert builds the Generator's hand-written schedule.
func expert(ctx context.Context, j *job) (*made, error) {
	e := bridge.Emission{Dir: j.dir, Function: j.gen.Name, Outputs: []string{"static_library", "c_header"}}
	if err := j.gen.Emit(ctx, "", nil, j.limits, e); err != nil {
		return nil, err
	}
	own, err := j.gen.Own(ctx)
	if err != nil || !own.Complete {
		return &made{}, nil // directives cannot say it; it is raced as it stands
	}
	return &made{schedule: own.Schedule.String()}, nil
}

// peer has an autoscheduler of Halide's write a build.
func peer(scheduler string, env []string, params ...bridge.Param) func(context.Context, *job) (*made, error) {
	return func(ctx context.Context, j *job) (*made, error) {
		e := bridge.Emission{Dir: j.dir, Function: j.gen.Name, Outputs: peerBuilds, Env: env}
		return &made{}, j.gen.Emit(ctx, scheduler, append(j.parallelism(), params...), j.limits, e)
	}
}

// parallelism tells a scheduler how many cores there are.
func (j *job) parallelism() []bridge.Param {
	return []bridge.Param{{Name: "parallelism", Value: strconv.Itoa(j.o.Threads)}}
}

// mullapudiLoop searches over the machine's parameters that the scheduler takes, as
// Mullapudi et al. do for 10% more (Adams et al., section 6.3), drawn at random until
// the budget is spent; the defaults come first.
func mullapudiLoop(ctx context.Context, j *job) (*made, error) {
	rng := rand.New(rand.NewSource(j.seed))
	return j.tryMany(ctx, 0, func(n int) trial {
		t := trial{scheduler: "mullapudi2016", params: j.parallelism(), outputs: peerBuilds}
		if n > 0 {
			t.params = []bridge.Param{
				{Name: "parallelism", Value: strconv.Itoa(j.o.Threads << rng.Intn(6))},
				{Name: "last_level_cache_size", Value: strconv.Itoa(64 << 10 << rng.Intn(11))},
				{Name: "balance", Value: strconv.Itoa(1 << rng.Intn(8))},
			}
		}
		return t
	}, nil)
}

// adamsLoop is adams2019_autotune_loop.sh of Halide: batches of 32, the first of each a
// beam search and the others greedy ones that draw at random, biased by the model;
// all are timed and the fastest is kept. With retraining the model learns from all
// samples after each batch, by Halide's own programs. Unlike the script builds are
// checked, timed in a runner rather than RunGen, some after every few that are made, and
// without its pauses; parallelism is this machine's. most bounds the samples; 0 does not.
func adamsLoop(most int, retrain bool) func(context.Context, *job) (*made, error) {
	return func(ctx context.Context, j *job) (*made, error) {
		r := &retrainer{j: j}
		propose := func(n int) trial {
			beam, dropout := "1", "1"
			if n%batch == 0 {
				beam, dropout = "32", "100"
			}
			t := trial{scheduler: "adams2019", outputs: peerBuilds, params: append(j.parallelism(),
				bridge.Param{Name: "beam_size", Value: beam}, bridge.Param{Name: "random_dropout", Value: dropout},
				bridge.Param{Name: "random_dropout_seed", Value: fmt.Sprint(j.seed*100000 + int64(n))})}
			if retrain {
				t.outputs = append(slices.Clone(peerBuilds), "featurization")
			}
			if r.weights != "" {
				t.params = append(t.params, bridge.Param{Name: "weights_path", Value: r.weights})
			}
			return t
		}
		if !retrain {
			return j.tryMany(ctx, most, propose, nil)
		}
		return j.tryMany(ctx, most, propose, r.learn)
	}
}
