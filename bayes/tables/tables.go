// Package tables has recorded tuning tasks: the time, or the failure, of every
// configuration of six kernels on three inputs each, really compiled and run, so
// that searches can be replayed in a moment. Package record made them; docs/bayes.md
// describes the kernels.
package tables

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/protuner/protuner/bayes"
	"github.com/protuner/protuner/bayes/space"
)

//go:embed spaces/*.json data/*.gz
var files embed.FS

// Header is the first line of a table: how it came about.
type Header struct {
	Kernel   string `json:"kernel"`
	Input    string `json:"input"`
	CPU      string `json:"cpu"`
	Compiler string `json:"compiler"`
	Date     string `json:"date"`
	Points   int    `json:"points"` // configurations, one a line
}

// Outcomes of a table that are no times, as they are written.
const (
	Missing = "b" // the compiler refuses it
	Wrong   = "w" // it computes something else
	Crash   = "c" // it kills the program
)

var failures = map[string]bayes.Outcome{
	Missing: bayes.Failure(bayes.Crashed, "it does not compile"),
	Wrong:   bayes.Failure(bayes.Infeasible, "its result is wrong"),
	Crash:   bayes.Failure(bayes.Crashed, "it crashes"),
}

// Table is one kernel on one input. It is immutable.
type Table struct {
	Header
	Space *space.Space
	// Best is the least time, in microseconds.
	Best float64
	// Digest tells tables of different content apart.
	Digest   string
	outcomes map[string]bayes.Outcome
}

// Name is the kernel and the input.
func (h Header) Name() string { return h.Kernel + "-" + h.Input }

// Outcome is what happened to a configuration of the table's space.
func (t *Table) Outcome(c space.Config) bayes.Outcome { return t.outcomes[c.Point().Key()] }

// Failing is the part of the configurations that fail.
func (t *Table) Failing() float64 {
	n := 0
	for _, o := range t.outcomes {
		if o.Status.Failed() {
			n++
		}
	}
	return float64(n) / float64(len(t.outcomes))
}

// Names lists the tables.
func Names() []string {
	entries, err := files.ReadDir("data")
	if err != nil {
		panic(err) // they are part of the program
	}
	var out []string
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".gz"))
	}
	return out
}

// Scenario returns the space of a kernel as text.
func Scenario(kernel string) ([]byte, error) {
	return files.ReadFile(path.Join("spaces", kernel+".json"))
}

// Space reads the space of a kernel.
func Space(kernel string) (*space.Space, error) {
	text, err := Scenario(kernel)
	if err != nil {
		return nil, fmt.Errorf("there is no kernel %s: %w", kernel, err)
	}
	sc, err := space.ReadScenario(strings.NewReader(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kernel, err)
	}
	return sc.Space, nil
}

// Configs lists the feasible configurations in the order of a table: ascending by
// the first parameter, then the second and so on, permutations element by element.
func Configs(s *space.Space) []space.Config {
	points := slices.Collect(s.All())
	slices.SortFunc(points, slices.Compare[space.Point])
	out := make([]space.Config, len(points))
	for i, x := range points {
		out[i] = s.Config(x)
	}
	return out
}

// Load reads a table by name.
func Load(name string) (*Table, error) {
	f, err := files.Open(path.Join("data", name+".gz"))
	if err != nil {
		return nil, fmt.Errorf("there is no table %s; there are %s", name, strings.Join(Names(), ", "))
	}
	defer f.Close()
	t, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	return t, nil
}

// Read decodes a table.
func Read(r io.Reader) (*Table, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(z, sum))
	if !lines.Scan() {
		return nil, fmt.Errorf("it is empty: %w", lines.Err())
	}
	t := &Table{Best: math.Inf(1), outcomes: map[string]bayes.Outcome{}}
	if err := json.Unmarshal(lines.Bytes(), &t.Header); err != nil {
		return nil, fmt.Errorf("its header: %w", err)
	}
	if t.Space, err = Space(t.Kernel); err != nil {
		return nil, err
	}
	configs := Configs(t.Space)
	if len(configs) != t.Points {
		return nil, fmt.Errorf("it has %d configurations, the space of %s has %d", t.Points, t.Kernel, len(configs))
	}
	for i, c := range configs {
		if !lines.Scan() {
			return nil, fmt.Errorf("it ends after %d of %d configurations", i, len(configs))
		}
		o, ok := failures[lines.Text()]
		if !ok {
			v, err := strconv.ParseFloat(lines.Text(), 64)
			if err != nil || !(v > 0) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("line %d: %q is neither a time nor a failure", i+2, lines.Text())
			}
			o = bayes.Value(v)
			t.Best = math.Min(t.Best, v)
		}
		t.outcomes[c.Point().Key()] = o
	}
	if lines.Scan() || lines.Err() != nil {
		return nil, fmt.Errorf("more than %d lines: %w", len(configs)+1, lines.Err())
	}
	t.Digest = hex.EncodeToString(sum.Sum(nil))[:16]
	return t, nil
}
