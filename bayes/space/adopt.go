package space

import "math"

// Adopt returns what comes nearest in this space to a configuration of another one,
// given by name as Config.Map and JSON have it: the same value where a parameter has
// it, the nearest of a number, and else the parameter's default or the first of its
// values. The result may break known constraints: it says where knowledge belongs,
// not what to try.
func (s *Space) Adopt(values map[string]any) Config {
	x := make(Point, 0, len(s.params))
	for i := range s.params {
		p := &s.params[i]
		slots := p.first()
		if p.Default != nil {
			_ = p.parse(p.Default, slots) // New has read it
		}
		if v, ok := values[p.Name]; ok {
			p.adopt(v, slots)
		}
		x = append(x, slots...)
	}
	return s.Config(x)
}

// first are the slots of the first value.
func (p *Param) first() []float64 {
	out := make([]float64, p.width())
	switch p.Type {
	case Permutation:
		for k := range out {
			out[k] = float64(k)
		}
	case Ordinal:
		out[0] = p.Values[0]
	case Real, Integer:
		out[0] = p.Min
	}
	return out
}

// adopt sets slots to what is nearest to v, or leaves them.
func (p *Param) adopt(v any, slots []float64) {
	own := make([]float64, len(slots))
	if p.parse(v, own) == nil {
		copy(slots, own)
		return
	}
	f, err := toFloat(v)
	if err != nil || p.Type == Categorical || p.Type == Permutation {
		return
	}
	if p.Type != Ordinal {
		slots[0] = math.Max(p.Min, math.Min(p.Max, f))
		if p.Type == Integer {
			slots[0] = math.Max(math.Ceil(p.Min), math.Min(math.Floor(p.Max), math.Round(f)))
		}
		return
	}
	if p.Log {
		f = math.Max(f, math.SmallestNonzeroFloat64)
	}
	u, least := p.Unit(f), math.Inf(1)
	for _, w := range p.Values {
		if d := math.Abs(p.Unit(w) - u); d < least {
			slots[0], least = w, d
		}
	}
}
