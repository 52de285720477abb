package measure

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/schedule"
)

// Of whatever pipeline, after the directives that it was described after, the plain schedules
// only compute Funcs at root, fewer and fewer, and in the end those that cannot be inlined.
func TestPlainSchedules(t *testing.T) {
	fewer := make([]int, 3)
	for _, name := range pipelinetest.Names(t) {
		p, binding := pipelinetest.Described(t, name), pipelinetest.Binding(t, name)
		head, err := p.StructureSchedule()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plain, err := PlainSchedules(p)
		if err != nil || len(plain) != len(fewer) {
			t.Fatalf("%s: %d schedules, %v", name, len(plain), err)
		}
		var before []string
		for i, s := range plain {
			if err := s.Check(binding); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, s)
			}
			n := len(head.Directives)
			if begin := (schedule.Schedule{Directives: s.Directives[:n]}); begin.String() != head.String() {
				t.Errorf("%s begins with\n%s", name, begin)
			}
			var atRoot []string
			for _, d := range s.Directives[n:] {
				if d.Op != schedule.ComputeRoot || i > 0 && !slices.Contains(before, d.Func) {
					t.Errorf("%s: schedule %d of %d has %s", name, i+1, len(plain), d)
				}
				atRoot = append(atRoot, d.Func)
			}
			if len(atRoot) < len(before) {
				fewer[i]++
			}
			before = atRoot
		}
		for _, f := range p.Funcs {
			must := !f.Input && !f.Output && f.MustInline == "" && (len(f.Stages) > 1 || f.Extern || f.MustRoot != "")
			if must != slices.Contains(before, f.Name) {
				t.Errorf("%s: in the end %s is at root: %t", name, f.Name, !must)
			}
		}
		if _, err := PlainSchedules(p.WithStructure([]string{"no directive"})); err == nil {
			t.Errorf("%s: there are schedules after what is no directive", name)
		}
	}
	if fewer[1] == 0 || fewer[2] == 0 {
		t.Errorf("the next schedule computes fewer Funcs at root of %d and %d pipelines: this shows nothing", fewer[1], fewer[2])
	}
}

// Processors are on different cores, and of those that this may run on; where there are not as
// many cores there are none, and nothing is pinned.
func TestPhysicalCPUs(t *testing.T) {
	if got := PhysicalCPUs(1 << 20); got != nil {
		t.Errorf("a million cores: %v", got)
	}
	core := func(cpu int) string {
		text, _ := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu))
		return string(text)
	}
	if core(0) == "" {
		t.Skip("this host does not tell its cores")
	}
	runtime.LockOSThread() // whose processors are asked for
	defer runtime.UnlockOSThread()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	var all []int
	for cpus := PhysicalCPUs(1); cpus != nil; cpus = PhysicalCPUs(len(all) + 1) {
		if len(cpus) != len(all)+1 {
			t.Fatalf("%d processors for %d", len(cpus), len(all)+1)
		}
		all = cpus
	}
	if len(all) == 0 {
		t.Fatal("there is no processor")
	}
	cores := map[string]bool{}
	for _, cpu := range all {
		if !allowed.IsSet(cpu) || cores[core(cpu)] {
			t.Errorf("processor %d of %v: on a core of its own: %t, allowed: %t", cpu, all, !cores[core(cpu)], allowed.IsSet(cpu))
		}
		cores[core(cpu)] = true
	}
	defer func() {
		if err := unix.SchedSetaffinity(0, &allowed); err != nil {
			t.Error(err)
		}
	}()
	for _, cpu := range all {
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Fatal(err)
		}
		if got, more := PhysicalCPUs(1), PhysicalCPUs(2); !slices.Equal(got, []int{cpu}) || more != nil {
			t.Errorf("on processor %d alone: %v, and of two cores %v", cpu, got, more)
		}
	}
}
