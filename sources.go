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

// The translation units of what is built from them besides the plugin, which is
// made of all but runner.cpp and names.cpp.
var (
	// RunnerUnits make the runner of ahead-of-time builds.
	RunnerUnits = []string{"runner.cpp", "harness.cpp", "compare.cpp", "fill.cpp", "json.cpp"}
	// NamesUnits make the plugin that tells a program's Generators.
	NamesUnits = []string{"names.cpp", "wire.cpp", "json.cpp"}
	// HotUnits run while candidates are checked and timed, so they are optimised.
	HotUnits = []string{"harness.cpp", "compare.cpp", "fill.cpp", "json.cpp", "wire.cpp"}
)
