package bench

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/protuner/protuner/internal/bridge"
)

// Suite is the sixteen applications of ProTuner's section 5 and of Adams et al.'s
// figure 8, which "all" stands for.
var Suite = []string{
	"bilateral_grid", "local_laplacian", "nl_means", "lens_blur", "camera_pipe", "stencil_chain", "harris", "hist",
	"max_filter", "unsharp", "interpolate", "conv_layer", "iir_blur", "bgu", "mat_mul", "resnet50",
}

// fourApps are those of ProTuner's figures 4 and 5.
var fourApps = []string{"bilateral_grid", "nl_means", "iir_blur", "max_filter"}

// layersFile lists, in an application's folder, the parts that it is scheduled in one
// by one (ProTuner, section 5): its first two columns are the part's name and how often
// it occurs, the others Generator parameters by their names.
const layersFile = "layers.csv"

// part is an application, or one of those that it is made of.
type part struct {
	app, name string
	times     int
	of        int // parts of the application that are run
	source    string
	options   bridge.Options
}

// label names a part to people.
func (p *part) label() string {
	if p.name == "" {
		return p.app
	}
	return p.app + "/" + p.name
}

// seen lists the applications in a folder.
func seen(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, "*", "*_generator.cpp"))
	var out []string
	for _, f := range found {
		name := filepath.Base(filepath.Dir(f))
		if filepath.Base(f) == name+"_generator.cpp" {
			out = append(out, name)
		}
	}
	return out
}

// parts reads an application's; with most above 0 only so many of those that are run
// most often, in the file's order.
func parts(dir, app string, most int) ([]*part, error) {
	source := filepath.Join(dir, app, app+"_generator.cpp")
	if _, err := os.Stat(source); err != nil {
		choice := seen(dir)
		if len(choice) == 0 {
			return nil, fmt.Errorf("there are no applications in the folder %s (one is NAME/NAME_generator.cpp there); say with --apps-dir where they are", dir)
		}
		return nil, fmt.Errorf("there is no application %q in %s; choose of %s, or all", app, dir, strings.Join(choice, ", "))
	}
	program, err := hashOf(filepath.Dir(source))
	if err != nil {
		return nil, err
	}
	o := bridge.Options{Path: source}
	file, err := os.Open(filepath.Join(dir, app, layersFile))
	if errors.Is(err, os.ErrNotExist) {
		return []*part{{app: app, times: 1, of: 1, source: program, options: o}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	if len(rows) < 2 || len(rows[0]) < 2 {
		return nil, fmt.Errorf("%s lists no parts", file.Name())
	}
	var out []*part
	for _, row := range rows[1:] {
		times, err := strconv.Atoi(row[1])
		if err != nil || times < 1 {
			return nil, fmt.Errorf("%s: %s occurs %q times; give a number of at least 1", file.Name(), row[0], row[1])
		}
		p := &part{app: app, name: row[0], times: times, source: program, options: o}
		for i, value := range row[2:] {
			p.options.Params = append(p.options.Params, bridge.Param{Name: rows[0][i+2], Value: value})
		}
		out = append(out, p)
	}
	if most > 0 && most < len(out) {
		out = mostOften(out, most)
	}
	for _, p := range out {
		p.of = len(out)
	}
	return out, nil
}

// hashOf tells whether the files of an application are those that they were.
func hashOf(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, f := range files {
		if f.Type().IsRegular() {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %d\n%s", f.Name(), len(text), text)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// mostOften keeps the n parts that occur most often, the first among equals.
func mostOften(all []*part, n int) []*part {
	byTimes := slices.Clone(all)
	slices.SortStableFunc(byTimes, func(a, b *part) int { return b.times - a.times })
	return slices.DeleteFunc(all, func(p *part) bool { return !slices.Contains(byTimes[:n], p) })
}
