package bench

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Profile is a comparison by name: the options that differ from the defaults, and what
// it is for.
type Profile struct {
	Name  string
	About string
	set   func(*Options)
}

// Set changes options to the profile's.
func (p Profile) Set(o *Options) { p.set(o) }

// table1 are ProTuner's configurations.
var table1 = []string{
	"protuner:mcts_30s", "protuner:mcts_10s", "protuner:mcts_1s", "protuner:mcts_Cp10_30s", "protuner:mcts_sqrt2_30s",
	"protuner:mcts_cost+real_30s", "protuner:mcts_cost+real_1s",
}

// rivals are what its section 5 compares them with: 16 beams side by side, greedy
// search, Halide's default scheduler of the time, ten minutes of measured random search.
var rivals = []string{"protuner:beams_16", "protuner:greedy", "mullapudi2016", "random"}

// mixes are the ensembles of its figures 4 and 5.
var mixes = []string{
	"protuner:mix_16_0", "protuner:mix_15_1", "protuner:mix_12_4", "protuner:mix_8_8", "protuner:mix_4_12", "protuner:mix_1_15", "protuner:mix_0_16",
}

// paper is what all profiles of ProTuner's share: times divided by ten, three seeds of
// which the best counts.
func paper(o *Options) {
	o.Divide, o.Repeat = mostDivided, 3
	o.Budget = 10 * time.Minute // of random search
	o.PeerTime = 30 * time.Minute
}

// configurations are those of its table 1, and their rivals: its figures 7 and 8 show
// other sides of the same run.
func configurations(o *Options) {
	paper(o)
	o.Methods = slices.Concat(table1, rivals)
}

// mixtures are its figures 4 and 5, two sides of one run.
func mixtures(o *Options) {
	paper(o)
	o.Apps, o.Methods = fourApps, mixes
}

var profiles = map[string]Profile{
	"quick": {About: "the whole suite within an hour on two cores: ours, Adams2019's beam, the hand-written schedules, Mullapudi2016", set: func(o *Options) {
		o.Methods = []string{"protuner", "adams2019:beam", "expert", "mullapudi2016"}
		o.Budget, o.PeerTime = 45*time.Second, 100*time.Second
		o.Layers, o.Finalists = 4, 3
		o.MinRounds, o.MaxRounds, o.RaceTime = 10, 20, 20*time.Second
	}},
	"table1": {About: "ProTuner's configurations (its table 1) on the suite, beside what its figures 7 and 8 compare them with", set: configurations},
	"fig4":   {About: "the share of decisions that greedy trees win, by the mixture of an ensemble (ProTuner, figure 4)", set: mixtures},
	"fig5":   {About: "execution times by the mixture of an ensemble (ProTuner, figure 5)", set: mixtures},
	"fig7":   {About: "the model's cost by application and algorithm (ProTuner, figure 7; resnet50 is left out there)", set: configurations},
	"fig8":   {About: "execution times by application and algorithm (ProTuner, figure 8)", set: configurations},
	"fig9": {About: "searches run again and again within 15 minutes, what they find measured (ProTuner, figure 9)", set: func(o *Options) {
		paper(o)
		o.Repeat, o.Budget = 1, 15*time.Minute
		o.Methods = []string{"protuner:autotune:mcts_0.5s", "protuner:autotune:mcts_1s", "protuner:autotune:beam"}
	}},
	"adams8": {About: "Adams et al.'s figure 8: Mullapudi2016, greedy, beam, 32 benchmarked samples, three hours with retraining, and the hand-written schedules", set: func(o *Options) {
		o.Divide, o.Budget, o.PeerTime = mostDivided, 3*time.Hour, 3*time.Hour
		o.Methods = []string{"mullapudi2016", "adams2019:greedy", "adams2019:beam", "adams2019:samples32", "adams2019:autotune", "expert"}
	}},
	"adams-ablations": {About: "Adams et al.'s section 6.3: a beam of 160 without coarse-to-fine, no nested tiling, Mullapudi2016 autotuned", set: func(o *Options) {
		o.Divide, o.Budget, o.PeerTime = mostDivided, 30*time.Minute, 60*time.Minute
		o.Methods = []string{"mullapudi2016", "adams2019:greedy", "adams2019:beam", "adams2019:beam160", "adams2019:no_subtiling", "mullapudi2016:autotune"}
	}},
}

// ProfileNames lists them.
func ProfileNames() []string { return slices.Sorted(maps.Keys(profiles)) }

// FindProfile finds one by name.
func FindProfile(name string) (Profile, error) {
	p, ok := profiles[name]
	if !ok {
		return p, &UsageError{fmt.Errorf("there is no profile %q; choose of %s", name, strings.Join(ProfileNames(), ", "))}
	}
	p.Name = name
	return p, nil
}
