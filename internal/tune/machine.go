package tune

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// HostName says on what kind of machine times were taken.
func HostName() string {
	return fmt.Sprintf("%s, %d processors", CPUModel(), runtime.NumCPU())
}

// CPUModel is the processor's name as Linux gives it, or what it has in the place of one.
func CPUModel() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	return cpuModel(string(text))
}

// cpuModel reads /proc/cpuinfo. ARM's has numbers, of which big and little cores have others.
func cpuModel(info string) string {
	var numbers []string
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(line, ":")
		switch key = strings.TrimSpace(key); key {
		case "model name":
			return strings.TrimSpace(value)
		case "CPU implementer", "CPU variant", "CPU part":
			number := strings.TrimPrefix(key, "CPU ") + " " + strings.TrimSpace(value)
			if !slices.Contains(numbers, number) {
				numbers = append(numbers, number)
			}
		}
	}
	return strings.Join(append([]string{runtime.GOARCH}, numbers...), " ")
}

// Governor is what sets the processor's clock, SMT whether a core has two threads, and Load
// what else runs, each as Linux has it: empty where it does not say.
func Governor() string { return firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") }

// SMT is documented at Governor.
func SMT() string { return firstLine("/sys/devices/system/cpu/smt/active") }

// Load is documented at Governor.
func Load() string { return firstLine("/proc/loadavg") }

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// Program is the version of protuner that runs: the commit where it is known.
func Program() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			version += " " + s.Value
		}
		if s.Key == "vcs.modified" && s.Value == "true" {
			version += " changed"
		}
	}
	return strings.TrimSpace(version)
}
