package oracle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/protuner/protuner/internal/bridge"
)

// Generator is a file with one of the Generators in it, whose name may be empty where
// it is the only one.
type Generator struct{ File, Name string }

func (g Generator) String() string {
	if g.Name != "" {
		return g.Name
	}
	return strings.TrimSuffix(filepath.Base(g.File), "_generator.cpp")
}

// made are those of halide/testdata that Adams2019 can schedule.
var made = []string{"tuple_update", "multi_output", "predicate", "boundary", "gather", "scan", "corners"}

// upstream are Halide's own apps that schedulers are compared on.
var upstream = []string{"bgu", "bilateral_grid", "camera_pipe", "conv_layer", "depthwise_separable_conv", "harris", "hist", "iir_blur",
	"interpolate", "lens_blur", "local_laplacian", "max_filter", "nl_means", "stencil_chain", "unsharp"}

// Suite lists the Generators of apps/ and the made-up ones of halide/testdata, and,
// where source is a folder of Halide's source, those of its apps. The current folder
// is the repository's root.
func Suite(source string) ([]Generator, []string, error) {
	apps, err := filepath.Glob(filepath.Join("apps", "*", "*_generator.cpp"))
	if err != nil || len(apps) == 0 {
		return nil, nil, fmt.Errorf("no Generators in apps/: run from the repository's root")
	}
	var all []Generator
	for _, file := range apps {
		all = append(all, Generator{File: file})
	}
	for _, name := range made {
		all = append(all, Generator{filepath.Join("halide", "testdata", "describe_generators.cpp"), name})
	}
	if source == "" {
		return all, nil, nil
	}
	for _, name := range upstream {
		file := filepath.Join(source, "apps", name, name+"_generator.cpp")
		if _, err := os.Stat(file); err != nil {
			return nil, nil, fmt.Errorf("%s is no folder of Halide's source: %w", source, err)
		}
		all = append(all, Generator{File: file})
	}
	return all, []string{filepath.Join(source, "apps", "support")}, nil
}

// Named are those of all that are named in a list with commas; all where it is empty.
func Named(all []Generator, names string) []Generator {
	if names == "" {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(g Generator) bool { return !slices.Contains(strings.Split(names, ","), g.String()) })
}

// Tally counts what compared how.
type Tally struct {
	Unopened                             int // Generators that ours cannot open
	Schedules, NotScheduled, NotImported int
	Origins                              [FromOpenNest + 1]int
	Same                                 int // schedules without a difference
	Values, Different                    int
	Near                                 int     // costs within near
	Worst                                float64 // cost, relative
}

// near is by how much a cost may be off Adams2019's.
const near = 1e-3

// Add adds what another Generator gave, or the same under another Halide.
func (t *Tally) Add(u Tally) {
	t.Unopened += u.Unopened
	t.Schedules += u.Schedules
	t.NotScheduled += u.NotScheduled
	t.NotImported += u.NotImported
	for i, n := range u.Origins {
		t.Origins[i] += n
	}
	t.Same += u.Same
	t.Values += u.Values
	t.Different += u.Different
	t.Near += u.Near
	t.Worst = max(t.Worst, u.Worst)
}

// Compare lets Adams2019 schedule greedily and under so many seeds of dropout. say is
// told about every difference; the error is that nothing can be compared at all.
func Compare(ctx context.Context, g Generator, seeds int, o Options, say func(seed int, what string)) (Tally, error) {
	var t Tally
	dir, err := os.MkdirTemp("", "oracle-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	oracle, err := Open(ctx, g.File, g.Name, dir, o)
	if err != nil {
		return t, err
	}
	for seed := range seeds + 1 {
		s, err := oracle.Run(ctx, seed)
		if ctx.Err() != nil {
			return t, ctx.Err()
		}
		if unread := (*UnreadError)(nil); errors.As(err, &unread) {
			t.Schedules++
			t.NotImported++
			say(seed, err.Error())
			continue
		}
		if err != nil {
			t.NotScheduled++
			continue
		}
		t.Schedules++
		c, err := oracle.Compare(s)
		if err != nil {
			t.NotImported++
			say(seed, fmt.Sprintf("%v\n%s", err, s.Nest))
			continue
		}
		t.Origins[c.Origin]++
		t.Values += c.Values
		t.Different += len(c.Different)
		if len(c.Different) == 0 {
			t.Same++
		}
		for i, d := range c.Different {
			if i < 10 {
				say(seed, d.String())
			}
		}
		t.Worst = max(t.Worst, c.Off)
		if c.Off <= near {
			t.Near++
		} else {
			say(seed, fmt.Sprintf("the cost is %g, Adams2019 says %g", c.Cost, s.Cost))
		}
	}
	return t, nil
}

// NotCompiled says of the error of opening a Generator that this Halide does not compile it.
func NotCompiled(err error) bool {
	var compiled *bridge.CompileError
	return errors.As(err, &compiled)
}

// CompareAll compares on all of Suite, or those named, under each of the versions, with
// what options gives for it, and prints a line for each and every difference. It
// returns what came together, and on how many pipelines; those that cannot be opened are
// said, and counted unless this Halide does not compile them.
func CompareAll(ctx context.Context, versions []string, source, names string, seeds int, options func(version string) Options) (Tally, int, error) {
	var total Tally
	generators, include, err := Suite(source)
	if err != nil {
		return total, 0, err
	}
	pipelines := map[Generator]bool{}
	for _, version := range versions {
		for _, g := range Named(generators, names) {
			o := options(version)
			o.Include = include
			t, err := Compare(ctx, g, seeds, o, func(seed int, what string) {
				fmt.Printf("%s, Halide %s, seed %d: %s\n", g, version, seed, what)
			})
			if ctx.Err() != nil {
				return total, 0, ctx.Err()
			}
			if err != nil {
				fmt.Printf("%s, Halide %s: not opened: %v\n", g.File, version, err)
				if !NotCompiled(err) {
					total.Unopened++
				}
				continue
			}
			fmt.Printf("%-26s Halide %s: %3d schedules, features the same on %3d, costs on %3d (worst %.1e); %d more that Adams2019 did not finish\n",
				g, version, t.Schedules, t.Same, t.Near, t.Worst, t.NotScheduled)
			if t.Schedules > 0 {
				pipelines[g] = true
			}
			total.Add(t)
		}
	}
	return total, len(pipelines), nil
}
