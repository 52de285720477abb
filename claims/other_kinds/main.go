// Claim: on kinds of pipelines that the suite has none of (sums of bytes, interleaved colours,
// rows that are normalised, steps in three dimensions, a cell of a recurrent network, one
// long sum of floats, transposition, decisions by floats, rows of packed weights, short
// integers that overflow, packed words, rows of four floats, states made of the ones before
// in whatever order, or of those a while before, rows of a sparse matrix, tables that are
// looked up, pictures that are turned, slices that are shifted, grids within grids,
// histograms of gradients, colours by a table, layers over volumes, steps of a decoder,
// long lists of few values, pixels of many, windows of few terms), a third of a minute from
// nothing ends in a schedule that computes the right thing and is faster in geometric mean than
// one written by hand.
// Usage: other_kinds [flags].
package main

import (
	"flag"
	"path/filepath"
	"strings"
	"time"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/internal/tune"
)

// kinds are the Generators of each file in the folder of that name.
var kinds = []struct{ file, names string }{
	{"kinds_generator.cpp", "byte_layer,byte_product,short_filter,interleaved_blur,interleaved_over,nv12,remap,row_norm,heat,lstm," +
		"tone_map,transpose,gram,match,kmeans,mandelbrot,lattice,rope,nibble_gemv,lifting,motion_sad," +
		"q_add,ten_bits,block_rows,rgba_blur,links,gated"},
	{"places_generator.cpp", "deposit,turned,noise,projection,radius,gradients,color_table"},
	{"states_generator.cpp", "plate,inside,disparity,likeliest,forward,state_space,multigrid,echo"},
	{"ragged_generator.cpp", "sparse_rows"},
	{"sums_generator.cpp", "volume,sparse_columns,winograd,decode_step"},
	{"lists_generator.cpp", "skin,inverses"},
	{"planes_generator.cpp", "background,kernels"},
	{"windows_generator.cpp", "correlation,depthwise7,responses,fit"},
}

func main() {
	budget := flag.Duration("budget", 20*time.Second, "time for each")
	seed := flag.Int64("seed", 1, "seed")
	files, all := map[string]string{}, []string{}
	for _, k := range kinds {
		for _, name := range strings.Split(k.names, ",") {
			files[name] = k.file
			all = append(all, name)
		}
	}
	names := flag.String("only", strings.Join(all, ","), "names")
	flag.Parse()
	dir := claim.TempDir()
	claim.AgainstOwn(claim.Context(), strings.Split(*names, ","), func(name string) (tune.Options, error) {
		o := tune.Defaults()
		o.Generator.Path, o.Generator.Name = filepath.Join("claims", "other_kinds", "kinds", files[name]), name
		o.Budget, o.Seed, o.DB = *budget, *seed, filepath.Join(dir, name+".db")
		return o, nil
	})
}
