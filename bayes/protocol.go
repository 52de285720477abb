package bayes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/protuner/protuner/bayes/space"
)

// Protocol is the version of the ask/tell protocol that Serve speaks.
const Protocol = 1

// maxRequest bounds one request in bytes.
const maxRequest = 1 << 20

// request is one line from the other side; docs/bayes.md describes them.
type request struct {
	Op        string          `json:"op"`
	N         *int            `json:"n,omitempty"`
	ID        int             `json:"id,omitempty"`
	Config    json.RawMessage `json:"config,omitempty"`
	Value     *float64        `json:"value,omitempty"`
	Deviation float64         `json:"deviation,omitempty"`
	Status    *Status         `json:"status,omitempty"`
	Message   string          `json:"message,omitempty"`
	Elapsed   float64         `json:"elapsed,omitempty"` // seconds
}

// response is one line back.
type response struct {
	OK         bool         `json:"ok"`
	Op         string       `json:"op,omitempty"`
	Error      string       `json:"error,omitempty"`
	Protocol   int          `json:"protocol,omitempty"`
	Parameters []parameter  `json:"parameters,omitempty"`
	Size       *float64     `json:"size,omitempty"` // absent when infinite or unknown
	Told       *int         `json:"told,omitempty"`
	Trials     []Trial      `json:"trials,omitempty"`
	Exhausted  bool         `json:"exhausted,omitempty"`
	Best       *Trial       `json:"best,omitempty"`
	Importance []Importance `json:"importance,omitempty"`
}

type parameter struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Serve lets another program drive the study: it reads one JSON request a line
// from r and writes one JSON response a line to w, until the request "stop",
// the end of r, or the end of ctx. A request that is wrong is answered with
// "ok": false and an error, and changes nothing. The error returned is that of
// reading, writing or ctx. Where Serve ends while a read is under way, a goroutine
// stays with r until that read returns.
func Serve(ctx context.Context, s *Study, r io.Reader, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan []byte)
	ended := make(chan error, 1)
	go func() {
		in := bufio.NewScanner(r)
		in.Buffer(make([]byte, 0, 4096), maxRequest)
		for in.Scan() {
			select {
			case lines <- bytes.Clone(in.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		ended <- in.Err()
	}()
	enc := json.NewEncoder(w)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			if errors.Is(err, bufio.ErrTooLong) {
				return fmt.Errorf("ask/tell: a request is longer than %d bytes", maxRequest)
			}
			return err
		case line := <-lines:
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			reply, stop := s.answer(ctx, line)
			if err := enc.Encode(reply); err != nil {
				return err
			}
			if stop {
				return nil
			}
		}
	}
}

func (s *Study) answer(ctx context.Context, line []byte) (reply response, stop bool) {
	var q request
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return response{Error: fmt.Sprintf("not a request: %v", err)}, false
	}
	reply, err := s.perform(ctx, q)
	reply.Op, reply.OK = q.Op, err == nil
	if err != nil {
		reply.Error = err.Error()
	}
	return reply, q.Op == "stop" && err == nil
}

func (s *Study) perform(ctx context.Context, q request) (response, error) {
	switch q.Op {
	case "hello":
		return s.hello(), nil
	case "ask":
		n := 1
		if q.N != nil {
			n = *q.N
		}
		if n < 1 || n > 10_000 {
			return response{}, fmt.Errorf("n is %d; 1 to 10000 can be asked for", n)
		}
		trials, err := s.Ask(ctx, n)
		if errors.Is(err, ErrExhausted) {
			return response{Exhausted: true}, nil
		}
		return response{Trials: trials}, err
	case "tell":
		o, err := q.outcome()
		if err == nil {
			err = s.Tell(ctx, q.ID, o)
		}
		return s.withBest(err), err
	case "import":
		o, err := q.outcome()
		var c space.Config
		if err == nil {
			c, err = s.space.ParseJSON(q.Config)
		}
		if err == nil {
			err = s.Import(ctx, c, o)
		}
		return s.withBest(err), err
	case "best":
		return s.withBest(nil), nil
	case "trials":
		return response{Trials: s.Trials()}, nil
	case "importance":
		list, err := s.Importance(ctx)
		return response{Importance: list}, err
	case "stop":
		return response{}, nil
	}
	return response{}, fmt.Errorf("unknown op %q; there are hello, ask, tell, import, best, trials, importance, stop", q.Op)
}

func (s *Study) hello() response {
	r := response{Protocol: Protocol}
	for _, p := range s.space.Params() {
		r.Parameters = append(r.Parameters, parameter{p.Name, p.Type.String()})
	}
	if n := s.space.Size(); !math.IsInf(n, 0) && !math.IsNaN(n) {
		r.Size = &n
	}
	told := s.finished()
	r.Told = &told
	return r
}

func (s *Study) withBest(err error) response {
	if t, ok := s.Best(); ok && err == nil {
		return response{Best: &t}
	}
	return response{}
}

func (q request) outcome() (Outcome, error) {
	o := Outcome{Status: OK, Deviation: q.Deviation, Message: q.Message, Elapsed: time.Duration(q.Elapsed * float64(time.Second))}
	if q.Status != nil {
		o.Status = *q.Status
	}
	switch {
	case q.Value != nil:
		o.Value = *q.Value
	case o.Status == OK:
		return o, errors.New("neither a value nor the status of a failure was given")
	}
	return o, nil
}
