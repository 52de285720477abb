package cost_test

import (
	"math/rand"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/cost"
	"github.com/protuner/protuner/internal/feature"
	"github.com/protuner/protuner/internal/pipeline/pipelinetest"
	"github.com/protuner/protuner/internal/space"
	"github.com/protuner/protuner/internal/space/spacetest"
)

// BenchmarkSteps is what a search does: all children of states along random walks made
// (make-ns/op), their features found (feature-ns/op) and their costs predicted
// (cost-ns/op).
func BenchmarkSteps(b *testing.B) {
	for _, name := range []string{"conv_layer", "unsharp", "harris", "bilateral_grid", "camera_pipe"} {
		b.Run(name, func(b *testing.B) {
			p := pipelinetest.Described(b, name+".h21")
			sp := spacetest.New(b, p, space.Adams(2))
			m, err := cost.New(madeWeights(), p, 2)
			if err != nil {
				b.Fatal(err)
			}
			x, rng := feature.New(sp), rand.New(rand.NewSource(1))
			var making, finding, predicting time.Duration
			var actions []space.Action
			var children []*space.State
			var features []feature.Schedule
			s := sp.Start()
			n := 0
			for ; n < b.N; n += len(children) {
				began := time.Now()
				actions, children = s.Actions(actions[:0]), children[:0]
				for _, a := range actions {
					children = append(children, s.Next(a))
				}
				making += time.Since(began)
				for _, c := range children {
					began = time.Now()
					features = x.Features(c, features[:0])
					found := time.Now()
					m.Predict(features)
					finding, predicting = finding+found.Sub(began), predicting+time.Since(found)
				}
				if s = children[rng.Intn(len(children))]; s.Complete() {
					s = sp.Start()
				}
			}
			for what, d := range map[string]time.Duration{"make": making, "feature": finding, "cost": predicting} {
				b.ReportMetric(float64(d.Nanoseconds())/float64(n), what+"-ns/op")
			}
		})
	}
}
