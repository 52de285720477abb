package bench

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/protuner/protuner/internal/search"
	"github.com/protuner/protuner/internal/tune"
)

// method makes schedules.
type method struct {
	name string // as given; with #2 and so on where it was given before
	// random says that seeds matter.
	random bool
	// alone says that it measures or uses all cores; what is not alone is made beside
	// others, on a core of its own.
	alone bool
	make  func(ctx context.Context, j *job) (*made, error)
}

// made is what a method came to. The static library is in the job's folder, and where it is
// checked what is raced of it, too.
type made struct {
	schedule    string // as directives; empty where it is in the folder's .schedule.h
	note        string
	cut         bool    // by a limit, before all was done that the method does
	cost        float64 // by the model, in milliseconds; 0 where it was not asked
	evaluations int64
	roots       int
	greedy      int
	measured    int
	checked     bool // what it computes was compared with the reference
}

// short notes what a limit kept it from.
func (m *made) short(format string, args ...any) {
	m.cut = true
	m.remark(format, args...)
}

// remark adds to the note.
func (m *made) remark(format string, args ...any) {
	m.note = strings.TrimPrefix(m.note+"; "+fmt.Sprintf(format, args...), "; ")
}

// parseMethods reads all of them; the error names the first that there is none of.
func parseMethods(names []string) ([]method, error) {
	var out []method
	times := map[string]int{}
	for _, name := range names {
		m, err := parseMethod(name)
		if err != nil {
			return nil, err
		}
		times[name]++
		m.name = name
		if n := times[name]; n > 1 {
			m.name = fmt.Sprintf("%s#%d", name, n)
		}
		out = append(out, m)
	}
	return out, nil
}

var (
	mixName   = regexp.MustCompile(`^mix_(\d+)_(\d+)$`)
	beamsName = regexp.MustCompile(`^beams_(\d+)$`)
)

func parseMethod(name string) (method, error) {
	head, rest, _ := strings.Cut(name, ":")
	switch {
	case name == "random":
		return measured("random"), nil
	case name == "protuner":
		return measured(tune.Defaults().Search), nil
	case head == "protuner":
		return parseOurs(name, rest)
	}
	if m, ok := peers()[name]; ok {
		return m, nil
	}
	return method{}, unknown(name)
}

func unknown(name string) error {
	return fmt.Errorf("there is no method %q; choose of protuner, protuner:NAME, protuner:measured:NAME, protuner:autotune:NAME, "+
		"protuner:mix_X_Y, protuner:beams_N, %s, random (docs/bench.md lists the names)", name, strings.Join(PeerNames(), ", "))
}

// parseOurs reads what follows protuner:.
func parseOurs(name, rest string) (method, error) {
	kind, inner, nested := strings.Cut(rest, ":")
	switch {
	case slices.Contains(search.Names(), rest):
		return measured(rest), nil
	case nested && kind == "measured" && tunable(inner):
		return measured(inner), nil
	case nested && kind == "autotune":
		if plan, err := planned(inner); err == nil && !plan.measures() {
			return autotuned(plan), nil
		}
		return method{}, unknown(name)
	}
	if m := mixName.FindStringSubmatch(rest); m != nil {
		standard, _ := strconv.Atoi(m[1])
		greedy, _ := strconv.Atoi(m[2])
		if n := standard + greedy; n < 1 || n > 256 {
			return method{}, fmt.Errorf("the mix %q has %d trees; give it 1 to 256", name, n)
		}
		return predicted(plan{name: "mcts_30s", change: func(o *search.MCTSOptions) { o.Standard, o.Greedy = standard, greedy }}), nil
	}
	if m := beamsName.FindStringSubmatch(rest); m != nil {
		n, _ := strconv.Atoi(m[1])
		if n < 1 || n > 256 {
			return method{}, fmt.Errorf("%q are %d beams; give 1 to 256", name, n)
		}
		return beams(n), nil
	}
	plan, err := planned(rest)
	switch {
	case err == nil:
		return predicted(plan), nil
	case search.Measures(rest): // there is one of that name, but it is not run again and again
		return method{}, fmt.Errorf("no method %q: %w", name, err)
	}
	return method{}, unknown(name)
}

// tunable says whether tuning takes it for --search.
func tunable(name string) bool {
	o := tune.Defaults()
	o.Generator.Path, o.Search = "x.cpp", name
	return o.Validate() == nil
}

// folder is a file name for a method.
func folder(method string) string {
	return strings.NewReplacer(":", "-", "#", "-again-", "+", "-and-", "/", "-").Replace(method)
}
