package bridge

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/protuner/protuner/internal/schedule"
)

// Protocol is raised whenever a message changes its meaning; both sides refuse
// another's. Its twin is kProtocol in halide/wire.h.
const Protocol = 1

// maxMessage bounds what a length may say (kMaxMessage in halide/wire.h).
const maxMessage = 64 << 20

// hello opens a session: which mode, and the mode's settings.
type hello struct {
	Protocol        int                  `json:"protocol"`
	Mode            string               `json:"mode"`
	Generator       string               `json:"generator,omitempty"`
	GeneratorParams []Param              `json:"generator_params,omitempty"`
	Structure       []schedule.Directive `json:"structure,omitempty"`       // describe
	Directives      []schedule.Directive `json:"directives,omitempty"`      // apply
	ScheduleSource  string               `json:"schedule_source,omitempty"` // apply
	Scratch         string               `json:"scratch,omitempty"`         // serve: a folder the server removes
	Runtime         string               `json:"runtime,omitempty"`
	Linker          string               `json:"linker,omitempty"`
	Runner          string               `json:"runner,omitempty"` // what built candidates go on in
	MemoryBytes     int64                `json:"memory_bytes,omitempty"`
	BuildTime       time.Duration        `json:"build_ns,omitempty"`
	ReferenceTime   time.Duration        `json:"reference_ns,omitempty"`
	CPUs            []int                `json:"cpus,omitempty"`
	Inputs          []Input              `json:"inputs,omitempty"`
}

// Input overrides how one input of the pipeline is made.
type Input struct {
	Name    string  `json:"name"`
	Fill    string  `json:"fill,omitempty"`    // buffers: random:SEED[:BITS], constant:V or raw:PATH
	Extents []int64 `json:"extents,omitempty"` // buffers: instead of the estimate
	// Value is that of a scalar; empty: the estimate. It is text: JSON has no number that is
	// infinite or none (+Inf, -Inf, NaN), and readers of it round whole ones of 64 bits.
	Value string `json:"value,omitempty"`
}

// Param is one Generator parameter.
type Param struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// request goes to the fork server.
type request struct {
	Type        string               `json:"type"` // reference, build, run, drop
	ID          int64                `json:"id"`
	Directives  []schedule.Directive `json:"directives,omitempty"`
	Own         bool                 `json:"own,omitempty"`
	BuildTime   time.Duration        `json:"build_ns,omitempty"` // instead of the session's
	Fault       string               `json:"fault,omitempty"`
	OnlySpecial bool                 `json:"only_special,omitempty"`
	Whole       bool                 `json:"whole,omitempty"`
	Check       *CheckProtocol       `json:"check,omitempty"`
	*RunProtocol
}

// Tolerance is how far results may be from the reference's.
type Tolerance struct {
	Relative float64 `json:"relative"`                   // floats, of the value
	Absolute float64 `json:"absolute"`                   // floats, of the output's largest
	Every    int64   `json:"integer_every,omitempty"`    // every integer may be off by this much
	Integer  int64   `json:"integer"`                    // some may be by this much
	Largest  float64 `json:"integer_relative,omitempty"` // or by this share of their output's largest magnitude,
	Share    float64 `json:"integer_share"`              // at most this share of an output's integers
	Stray    float64 `json:"stray_share,omitempty"`      // this share of an output's elements may be off by anything
}

// CheckProtocol says how a candidate is checked once it is built.
type CheckProtocol struct {
	Tolerance
	Hopeless time.Duration `json:"hopeless_cpu_ns,omitempty"` // an execution is ended that uses more processor time
}

// RunProtocol says how one run of a candidate is timed, and how what it left is
// compared afterwards. On the wire times are in nanoseconds, as Durations are written.
type RunProtocol struct {
	Tolerance
	MinTotal   time.Duration `json:"min_total_ns"` // sample for at least this long
	MinSamples int64         `json:"min_samples"`
	MaxSamples int64         `json:"max_samples"`
	GiveUp     time.Duration `json:"give_up_ns,omitempty"`  // stop once the best of two samples is above
	Hopeless   time.Duration `json:"hopeless_ns,omitempty"` // end where the first execution takes longer
	Timeout    time.Duration `json:"timeout_ns"`            // kill after
}

// answer comes from the plugin in any mode.
type answer struct {
	Type string `json:"type"`

	// hello
	Protocol   int      `json:"protocol"`
	Generators []string `json:"generators"`

	// error, failed
	ID      int64  `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`

	// description, own
	Pipeline   json.RawMessage      `json:"pipeline"`
	Directives []schedule.Directive `json:"directives"`
	Complete   bool                 `json:"complete"`
	Notes      []string             `json:"notes"`

	// referenced, built, ran
	Data    json.RawMessage `json:"data"`
	Lower   time.Duration   `json:"lower_ns"`
	Link    time.Duration   `json:"link_ns"`
	Samples []time.Duration `json:"samples"`
	Check   time.Duration   `json:"check_ns"`
	Time    time.Duration   `json:"time_ns"`
}

// writeMessage frames one message: a little-endian u32 length and that much JSON.
func writeMessage(w io.Writer, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	framed := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body)))
	_, err = w.Write(append(framed, body...))
	return err
}

// readMessage reads one message; io.EOF where the other side ended between two.
func readMessage(r io.Reader) (*answer, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(header[:])
	if n > maxMessage {
		return nil, fmt.Errorf("a message of %d bytes is over the limit", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	a := new(answer)
	if err := json.Unmarshal(body, a); err != nil {
		return nil, fmt.Errorf("a message that is no answer: %w", err)
	}
	return a, nil
}
