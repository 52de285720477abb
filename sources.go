// Package protuner carries the C++ sources of the bridge, so that the command can
// compile them against whichever Halide the user has. (Go refuses C++ files in a
// package's own folder, so they are embedded from here.)
package protuner

import (
	"embed"
	"io/fs"
)

//go:embed halide/*.cpp halide/*.h
var sources embed.FS

// BridgeSources holds the plugin's and the runner's sources, without a folder.
func BridgeSources() fs.FS {
	sub, err := fs.Sub(sources, "halide")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// The translation units of what is built from the sources: the plugin is made of all
// that is not an Entry of something else.
var (
	// Entries are where the runner and the plugin that tells names begin.
	Entries = []string{"runner.cpp", "evaluate.cpp", "names.cpp"}
	// RunnerUnits make the runner of candidates and of ahead-of-time builds.
	RunnerUnits = []string{"runner.cpp", "evaluate.cpp", "failure.cpp", "faults.cpp", "harness.cpp", "dataset.cpp", "compare.cpp", "fill.cpp", "json.cpp", "wire.cpp"}
	// NamesUnits make the plugin that tells a program's Generators.
	NamesUnits = []string{"names.cpp", "wire.cpp", "json.cpp"}
	// HotUnits run while candidates are checked and timed, so they are optimised.
	HotUnits = []string{"harness.cpp", "dataset.cpp", "compare.cpp", "fill.cpp", "json.cpp", "wire.cpp"}
)
