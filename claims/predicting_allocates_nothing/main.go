// Claim: predicting one schedule, its features and its cost, allocates nothing in the
// steady state, on every app and the made-up Generators of halide/testdata, under
// every Halide tested. It prints what go test -benchmem would.
//
//	go run ./claims/predicting_allocates_nothing [-halide 21.0.0]
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/protuner/protuner/claims/claim"
	"github.com/protuner/protuner/claims/oracle"
	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/feature"
)

func main() {
	versions := flag.String("halide", strings.Join(bridge.TestedVersions, ","), "versions of Halide")
	flag.Parse()
	ctx := claim.Context()
	generators, _, err := oracle.Suite("")
	claim.Fail(err)
	dir := claim.TempDir()
	pipelines, unopened, allocations := 0, 0, int64(0)
	for _, version := range strings.Split(*versions, ",") {
		for _, g := range generators {
			o, err := oracle.Open(ctx, g.File, g.Name, dir, oracle.Defaults(version))
			if err != nil {
				text, _, _ := strings.Cut(err.Error(), "\n")
				fmt.Printf("%s, Halide %s: not opened: %s\n", g, version, text)
				claim.Fail(ctx.Err())
				if !oracle.NotCompiled(err) {
					unopened++
				}
				continue
			}
			s := o.Space.Start().SampleDown(rand.New(rand.NewSource(1)))
			var rows []feature.Schedule
			r := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					rows = o.Features.Features(s, rows[:0])
					o.Model.Predict(rows)
				}
			})
			fmt.Printf("%-26s Halide %s: %s\t%s\n", g, version, r, r.MemString())
			pipelines++
			allocations += r.AllocsPerOp()
		}
	}
	claim.Say(allocations == 0 && pipelines >= 12 && unopened == 0, "%d allocations a prediction, over %d pipelines; %d Generators that ours cannot open (bar 0)", allocations, pipelines, unopened)
}
