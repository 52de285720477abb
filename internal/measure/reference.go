package measure

import (
	"fmt"
	"os"
	"slices"

	"github.com/protuner/protuner/internal/pipeline"
	"github.com/protuner/protuner/internal/schedule"
)

// PlainSchedule computes every Func at root, serially and by scalars: the schedule
// with the least that could go wrong, for the reference.
func PlainSchedule(p *pipeline.Pipeline) schedule.Schedule {
	var ds []schedule.Directive
	for _, f := range p.Funcs {
		if !f.Input && !f.Output && f.MustInline == "" {
			ds = append(ds, schedule.Directive{Op: schedule.ComputeRoot, Func: f.Name})
		}
	}
	return schedule.Schedule{Directives: ds}
}

// PhysicalCPUs gives n processors on different physical cores, for pinning; nil
// where the host has fewer cores than that or does not tell.
func PhysicalCPUs(n int) []int {
	var cpus []int
	var cores []string
	for cpu := 0; ; cpu++ {
		base := fmt.Sprintf("/sys/devices/system/cpu/cpu%d", cpu)
		if _, err := os.Stat(base); err != nil {
			break
		}
		siblings, err := os.ReadFile(base + "/topology/thread_siblings_list")
		if err != nil {
			continue // offline
		}
		if core := string(siblings); !slices.Contains(cores, core) {
			cores = append(cores, core)
			cpus = append(cpus, cpu)
		}
	}
	if len(cpus) < n {
		return nil
	}
	return cpus[:n]
}
