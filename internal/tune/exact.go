package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/protuner/protuner/internal/bridge"
	"github.com/protuner/protuner/internal/measure"
	"github.com/protuner/protuner/internal/schedule"
)

// exact holds a schedule to its integers where screening may not: integers that are
// made from floats differ between correct schedules, because a multiplication and an
// addition are fused in one and not in another. Compiled with strict floats nothing
// is fused or reordered, and then every integer must be the reference's. Only what is
// handed out is checked so: it costs a second compilation.
type exact struct {
	server   *bridge.Server // nil where screening was exact
	protocol measure.Protocol
	threads  int
}

// checksExactly says whether screening may let integers differ.
func (t *tuner) checksExactly() bool {
	return t.o.Protocol.Integer != 0 && t.pipe.HasIntegerOutput()
}

func (t *tuner) newExact(ctx context.Context) (*exact, error) {
	e := &exact{protocol: t.o.Protocol, threads: t.o.Threads}
	if !t.checksExactly() {
		return e, nil
	}
	e.protocol.Integer, e.protocol.IntegerRelative, e.protocol.IntegerShare = 0, 0, 0
	server, err := t.gen.Strict().Serve(ctx, bridge.ServerOptions{
		MemoryBytes: t.o.CandidateMemory, BuildTime: t.o.CandidateBuild, Inputs: t.inputs,
	})
	if err != nil {
		return nil, err
	}
	if _, err := measure.Reference(ctx, server, t.pipe); err != nil {
		server.Close()
		return nil, fmt.Errorf("the reference of %s with strict floats cannot be computed: %w", t.gen.Name, err)
	}
	e.server = server
	return e, nil
}

func (e *exact) close() {
	if e.server != nil {
		e.server.Close()
	}
}

// check fails where an integer of the output is not the reference's.
func (e *exact) check(ctx context.Context, s schedule.Schedule) error {
	if e.server == nil {
		return nil
	}
	err := measure.CheckOnce(ctx, e.server, s, e.protocol, e.threads)
	if err != nil {
		var f *bridge.Failure
		if errors.As(err, &f) {
			return fmt.Errorf("schedule %s with strict floats: %s", s.HashString(), strings.TrimSpace(f.Message))
		}
		return err
	}
	return nil
}
