// Command record measures the tables of package tables: it writes the kernels as C,
// compiles them, and times every configuration of each on every input, in random
// order. It may be stopped and goes on where it ended. Run from the repository's root,
// on a machine that does nothing else:
//
//	go run ./bayes/tables/record -build
//	go run ./bayes/tables/record -for 20m
package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "embed"

	"github.com/protuner/protuner/bayes/space"
	"github.com/protuner/protuner/bayes/tables"
)

//go:embed source/runner.c
var runnerSource string

//go:embed source/kernel.h
var header string

var compiler = []string{"gcc", "-std=gnu11", "-O3", "-march=native", "-ffast-math", "-fopenmp"}

func main() {
	work := flag.String("work", "out/tables", "folder for libraries and unfinished tables")
	into := flag.String("into", "bayes/tables/data", "folder of the finished tables")
	build := flag.Bool("build", false, "write and compile the kernels, measure nothing")
	limit := flag.Duration("for", time.Hour, "measure for so long")
	flag.Parse()
	err := os.MkdirAll(*work, 0o755)
	if err == nil && *build {
		err = compileAll(*work)
	} else if err == nil {
		err = measureAll(*work, *into, time.Now().Add(*limit))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// library is the name of the one that runs a configuration.
func (k kernel) library(c space.Config) string {
	name := k.name
	if k.order {
		name += "-" + strings.ReplaceAll(c.Text("order"), ",", "")
	}
	if k.vec {
		name += "-" + c.Text("vec")
	}
	return name
}

// compileAll makes the runner and a library of every order and constant. One that the
// compiler refuses is missing, and that is its outcome; its words are kept beside it.
func compileAll(work string) error {
	for name, text := range map[string]string{"kernel.h": header, "runner.c": runnerSource} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if out, err := gcc(work, "runner.c", "-o", "runner", "-ldl", "-lm"); err != nil {
		return fmt.Errorf("the runner: %w\n%s", err, out)
	}
	var wg sync.WaitGroup
	turns := make(chan struct{}, runtime.NumCPU())
	for _, k := range kernels {
		s, err := tables.Space(k.name)
		if err != nil {
			return err
		}
		done := map[string]bool{}
		for _, c := range tables.Configs(s) {
			name := k.library(c)
			if done[name] {
				continue
			}
			done[name] = true
			vec := 0
			if k.vec {
				vec = c.Int("vec")
			}
			order := []int{0, 1}
			if k.order {
				order = c.Order("order")
			}
			if err := os.WriteFile(filepath.Join(work, name+".c"), []byte(k.source(order, vec)), 0o644); err != nil {
				return err
			}
			turns <- struct{}{}
			wg.Add(1)
			go func() {
				defer wg.Done()
				if out, err := gcc(work, "-shared", "-fPIC", name+".c", "-o", name+".so"); err != nil {
					_ = os.WriteFile(filepath.Join(work, name+".refused"), out, 0o644) // for people only
				}
				<-turns
			}()
		}
		wg.Wait()
		fmt.Printf("%s: %d libraries\n", k.name, len(done))
	}
	return nil
}

func gcc(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command(compiler[0], append(slices.Clone(compiler[1:]), args...)...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// errTime says that the time is over.
var errTime = errors.New("the time is over; run again to go on")

func measureAll(work, into string, end time.Time) error {
	for _, k := range kernels {
		for _, input := range k.inputs {
			name := tables.Header{Kernel: k.name, Input: input}.Name()
			if _, err := os.Stat(filepath.Join(into, name+".gz")); err == nil {
				continue
			}
			if err := measure(k, input, work, into, end); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// measure goes on with one table and writes it when it is whole.
func measure(k kernel, input, work, into string, end time.Time) error {
	s, err := tables.Space(k.name)
	if err != nil {
		return err
	}
	h := tables.Header{Kernel: k.name, Input: input, CPU: cpu(), Compiler: version(), Date: time.Now().Format(time.DateOnly)}
	configs := tables.Configs(s)
	h.Points = len(configs)
	path := filepath.Join(work, h.Name()+".part")
	lines, err := readPart(path, len(configs))
	if err != nil {
		return err
	}
	part, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer part.Close()
	r := &runner{kernel: k.name, input: input, dir: work}
	defer r.stop()
	left := 0
	for _, i := range rand.New(rand.NewSource(1)).Perm(len(configs)) {
		if lines[i] != "" {
			continue
		}
		if time.Now().After(end) {
			left++
			continue
		}
		if lines[i], err = r.time(k.request(configs[i])); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(part, "%d %s\n", i, lines[i]); err != nil {
			return err
		}
	}
	if left > 0 {
		return fmt.Errorf("%d of %d configurations are left: %w", left, len(configs), errTime)
	}
	fmt.Println(h.Name(), "is whole")
	return write(filepath.Join(into, h.Name()+".gz"), h, lines)
}

func readPart(path string, n int) ([]string, error) {
	lines := make([]string, n)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return lines, nil
	}
	for _, l := range strings.Split(string(text), "\n") {
		at, value, ok := strings.Cut(l, " ")
		if i, err := strconv.Atoi(at); ok && err == nil && i < n {
			lines[i] = value
		}
	}
	return lines, err
}

func (k kernel) request(c space.Config) string {
	var q [4]string
	for i := range q {
		q[i] = "0"
		if i < len(k.numbers) {
			q[i] = c.Text(k.numbers[i])
		}
	}
	kind, chunk, threads := "static", "1", "2"
	if !k.vec {
		kind, chunk, threads = c.Text("schedule"), c.Text("omp_chunk"), c.Text("threads")
	}
	return strings.Join([]string{k.library(c), kind, chunk, threads, strings.Join(q[:], " ")}, " ")
}

// runner is the C program under way, started when it is needed.
type runner struct {
	kernel, input, dir string
	cmd                *exec.Cmd
	in                 io.WriteCloser
	out                *bufio.Scanner
}

func (r *runner) start() error {
	r.cmd = exec.Command("./runner", r.kernel, r.input, ".")
	r.cmd.Dir, r.cmd.Stderr = r.dir, os.Stderr
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	r.out = bufio.NewScanner(out)
	return r.cmd.Start()
}

func (r *runner) stop() {
	if r.cmd != nil {
		_ = r.in.Close()
		_ = r.cmd.Wait() // it has answered or crashed
		r.cmd = nil
	}
}

// time returns the line of a table for one request: microseconds to four digits, or a
// failure.
func (r *runner) time(request string) (string, error) {
	if r.cmd == nil {
		if err := r.start(); err != nil {
			return "", err
		}
	}
	if _, err := fmt.Fprintln(r.in, request); err == nil && r.out.Scan() {
		switch answer := r.out.Text(); answer {
		case "missing":
			return tables.Missing, nil
		case "wrong":
			return tables.Wrong, nil
		default:
			ns, err := strconv.ParseFloat(answer, 64)
			return fmt.Sprintf("%.4g", ns/1000), err
		}
	}
	r.stop()
	return tables.Crash, nil
}

func write(path string, h tables.Header, lines []string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	head, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = io.WriteString(z, string(head)+"\n"+strings.Join(lines, "\n")+"\n")
	return errors.Join(err, z.Close(), f.Close())
}

// cpu names the processor; a table is worth little without it.
func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for _, l := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(l, "model name"); ok {
			return fmt.Sprintf("%s, %d cores", strings.Trim(name, "\t :"), runtime.NumCPU())
		}
	}
	return fmt.Sprintf("unknown, %d cores", runtime.NumCPU())
}

func version() string {
	out, _ := exec.Command(compiler[0], "--version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	return first + ", " + strings.Join(compiler[1:], " ")
}
