package schedule

import (
	"fmt"
	"slices"
)

// Values gives the value each hole had in the schedule that was opened.
func (t Template) Values() map[string]int64 {
	out := make(map[string]int64, len(t.Holes))
	for _, h := range t.Holes {
		out[h.Name] = h.Value
	}
	return out
}

// Fill makes the schedule with these values, one for every hole. It is an error,
// naming hole or constraint, where one is missing, unknown, out of its hole's
// values or against a constraint. The original values give the original schedule.
func (t Template) Fill(values map[string]int64) (Schedule, error) {
	for _, h := range t.Holes {
		v, ok := values[h.Name]
		switch {
		case !ok:
			return Schedule{}, fmt.Errorf("no value for hole %s", h.Name)
		case v < h.Min || v > h.Max:
			return Schedule{}, fmt.Errorf("hole %s: %d is not in [%d, %d]", h.Name, v, h.Min, h.Max)
		case len(h.Values) > 0 && !slices.Contains(h.Values, v):
			return Schedule{}, fmt.Errorf("hole %s: %d is none of its values %v", h.Name, v, h.Values)
		}
	}
	if len(values) > len(t.Holes) {
		return Schedule{}, fmt.Errorf("%d values for %d holes", len(values), len(t.Holes))
	}
	for _, c := range t.Constraints {
		if !c.holds(values) {
			return Schedule{}, fmt.Errorf("the values do not meet %s", c)
		}
	}
	out := slices.Clone(t.schedule.Directives)
	for _, h := range t.Holes {
		d := &out[h.position]
		d.Ints = slices.Clone(d.Ints)
		d.Ints[0] = t.number(h, values)
	}
	s := Schedule{Directives: out}
	return s, s.Validate()
}

// Read gives the values that make s of the template; false where none do.
func (t Template) Read(s Schedule) (map[string]int64, bool) {
	if len(s.Directives) != len(t.schedule.Directives) {
		return nil, false
	}
	values := make(map[string]int64, len(t.Holes))
	for _, h := range t.Holes {
		d := s.Directives[h.position]
		if len(d.Ints) == 0 {
			return nil, false
		}
		values[h.Name] = d.Ints[0]
		if h.Role == TasksRole {
			values[h.Name] = ceilDiv(t.tasks[h.Name].extent, max(1, d.Ints[0]))
		}
	}
	made, err := t.Fill(values)
	return values, err == nil && made.Hash() == s.Hash()
}

// number gives what stands in the directive for a hole's value: the value, or for
// a number of tasks the factor that makes so many, as large as what is split off
// inside it needs.
func (t Template) number(h Hole, values map[string]int64) int64 {
	v := values[h.Name]
	if h.Role != TasksRole {
		return v
	}
	split := t.tasks[h.Name]
	factor := split.factor
	if v != h.Value {
		factor = ceilDiv(split.extent, v)
	}
	for _, inner := range split.inner {
		factor = max(factor, values[inner])
	}
	return factor
}
