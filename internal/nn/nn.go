// Package nn is the network of Adams et al. 2019's cost model (section 4.2): two
// embeddings, of what a stage computes and of how it is scheduled, and a layer that
// makes of both the coefficients of hand-written cost terms. It knows neither
// features nor terms: only numbers in, numbers out.
package nn

import "math/rand"

// Sizes of the layers, as in Halide's Adams2019 (feature version 3).
const (
	Algorithm = 8  // channels of the algorithm's embedding
	Ops       = 40 // rows of the algorithm's features: kinds of operations
	Types     = 7  // columns: scalar types
	Schedule  = 24 // channels of the schedule's embedding
	Inputs    = 39 // features of the schedule
	Outputs   = 32 // coefficients
	Padded    = 40 // Inputs, up to a whole number of vectors
)

// Weights are the parameters, 4264 float32, in the layout of Halide's buffers:
// the first index given varies fastest.
type Weights struct {
	Head1Filter [Algorithm * Ops * Types]float32          // channel, operation, type
	Head1Bias   [Algorithm]float32                        // channel
	Head2Filter [Schedule * Inputs]float32                // channel, feature
	Head2Bias   [Schedule]float32                         // channel
	Conv1Filter [Outputs * (Algorithm + Schedule)]float32 // coefficient, channel of both embeddings
	Conv1Bias   [Outputs]float32                          // coefficient
}

// buffers lists the parameters with their extents, in the order of files.
func (w *Weights) buffers() []buffer {
	return []buffer{
		{"head1 filter", []uint32{Algorithm, Ops, Types}, w.Head1Filter[:]},
		{"head1 bias", []uint32{Algorithm}, w.Head1Bias[:]},
		{"head2 filter", []uint32{Schedule, Inputs}, w.Head2Filter[:]},
		{"head2 bias", []uint32{Schedule}, w.Head2Bias[:]},
		{"conv1 filter", []uint32{Outputs, Algorithm + Schedule}, w.Conv1Filter[:]},
		{"conv1 bias", []uint32{Outputs}, w.Conv1Bias[:]},
	}
}

// Random are weights to begin training from, as Halide's tools do: drawn evenly from
// (-0.5, 0.5).
func Random(rng *rand.Rand) *Weights {
	w := new(Weights)
	for _, b := range w.buffers() {
		for i := range b.data {
			b.data[i] = rng.Float32() - 0.5
		}
	}
	return w
}

type buffer struct {
	name    string
	extents []uint32
	data    []float32
}

// Stage is what the network needs of a stage's algorithm: the coefficients before
// the schedule is looked at. It serves all schedules of the stage.
type Stage [Outputs]float32

// Network is ready to evaluate; it does not change and is safe for concurrent use.
type Network struct {
	w        Weights
	squashed [Algorithm * Ops * Types]float32 // sigmoid of Head1Filter
}

// New prepares a network. The weights are copied.
func New(w *Weights) *Network {
	n := &Network{w: *w}
	for i, v := range w.Head1Filter {
		n.squashed[i] = sigmoid(v)
	}
	return n
}

// Stage embeds a stage's algorithm: Ops rows of Types counts, row-major. The
// filter's weights are squashed into (0, 1) first, so that more operations never
// embed as fewer.
func (n *Network) Stage(counts []int32) *Stage {
	_ = counts[Ops*Types-1]
	head := n.w.Head1Bias
	for typ := range Types {
		for op := range Ops {
			count := float32(counts[op*Types+typ])
			if count == 0 {
				continue // adds nothing
			}
			row := n.squashed[Algorithm*(op+Ops*typ):]
			for c := range Algorithm {
				head[c] += float32(row[c] * count)
			}
		}
	}
	s := Stage(n.w.Conv1Bias)
	for i, v := range head {
		row := n.w.Conv1Filter[Outputs*i:]
		for c := range Outputs {
			s[c] += float32(row[c] * v)
		}
	}
	return &s
}

// Coefficients sets out to the coefficients of a stage under a schedule with these
// features, and f to the features as the network sees them: float32, behind them
// zeros up to Padded. No coefficient is negative. It reports false, and leaves out
// undefined, where a feature is negative or too large for a float32, or is no
// number. It does not allocate.
//
// All processors compute the same bits: vector code where there is some (see
// kernel_amd64.go), and evaluate elsewhere.
func (n *Network) Coefficients(s *Stage, features *[Inputs]float64, f *[Padded]float32, out *[Outputs]float32) bool {
	return coefficients(&n.w, s, features, f, out)
}
