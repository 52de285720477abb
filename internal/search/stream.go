package search

import "math/rand"

// stream is a source of random numbers that is made at no cost, so that every
// simulation can have its own and results do not depend on who runs which: Vigna's
// SplitMix64.
type stream uint64

// newStream names a stream by a seed and its place in the search.
func newStream(seed int64, place ...uint64) *rand.Rand {
	s := stream(seed)
	for _, p := range place {
		s = stream(s.Uint64() ^ p*0xd1342543de82ef95)
	}
	return rand.New(&s)
}

func (s *stream) Uint64() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (s *stream) Int63() int64    { return int64(s.Uint64() >> 1) }
func (s *stream) Seed(seed int64) { *s = stream(seed) }
