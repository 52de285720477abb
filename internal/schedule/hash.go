package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// hashVersion is hashed first, so that a change of the canonical form changes
// every hash at once and never some of them.
const hashVersion = "protuner schedule 1\n"

// Hash identifies the schedule: the first eight bytes, big-endian, of SHA-256
// over the canonical text form. Schedules that differ only in how they are
// written are equal: a word left out or said to be the default, empty lists or
// none, a numeric default left out of a text. Those that name a loop or a made
// Func differently, or order their directives differently, need not be. It is
// stable across runs, machines and versions: the database is keyed by it.
func (s Schedule) Hash() uint64 {
	h := sha256.Sum256([]byte(hashVersion + s.canonical().String()))
	return binary.BigEndian.Uint64(h[:8])
}

// HashString is Hash as 16 hexadecimal digits.
func (s Schedule) HashString() string { return fmt.Sprintf("%016x", s.Hash()) }

// canonical says every default word outright.
func (s Schedule) canonical() Schedule {
	out := slices.Clone(s.Directives)
	for i := range out {
		for _, a := range signatures[out[i].Op].slots {
			if a.kind == wordSlot && out[i].Word == "" {
				out[i].Word = a.word
			}
		}
	}
	return Schedule{Directives: out}
}
