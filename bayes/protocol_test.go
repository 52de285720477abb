package bayes_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/protuner/protuner/bayes"
)

// talk sends one line and returns the answer.
type client struct {
	t  *testing.T
	w  io.Writer
	in *bufio.Scanner
}

func (c client) talk(line string) map[string]any {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.w, line); err != nil {
		c.t.Fatal(err)
	}
	if !c.in.Scan() {
		c.t.Fatalf("no answer to %s: %v", line, c.in.Err())
	}
	var m map[string]any
	if err := json.Unmarshal(c.in.Bytes(), &m); err != nil {
		c.t.Fatalf("%s: %v", c.in.Text(), err)
	}
	return m
}

func TestServe(t *testing.T) {
	p := tiny(t)
	s := open(t, p, bayes.Options{NoDefault: true}, nil)
	reqR, reqW := io.Pipe()
	resR, resW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- bayes.Serve(context.Background(), s, reqR, resW) }()
	c := client{t, reqW, bufio.NewScanner(resR)}

	hello := c.talk(`{"op":"hello"}`)
	if hello["ok"] != true || hello["protocol"] != 1.0 || hello["size"] != p.Space.Size() || len(hello["parameters"].([]any)) != 3 {
		t.Errorf("hello: %v", hello)
	}
	for line, want := range map[string]string{
		`nonsense`:                              "not a request",
		`{"op":"dance"}`:                        `unknown op "dance"`,
		`{"op":"ask","n":0}`:                    "n is 0",
		`{"op":"ask","k":1}`:                    "unknown field",
		`{"op":"tell","id":1,"value":2}`:        "trial 1 was not asked",
		`{"op":"tell","id":1}`:                  "neither a value nor",
		`{"op":"tell","id":1,"status":"odd"}`:   "unknown status",
		`{"op":"import","value":1}`:             "not a JSON object",
		`{"op":"import","config":{},"value":1}`: "parameter a has no value",
		`{"op":"importance"}`:                   "too few",
	} {
		if a := c.talk(line); a["ok"] != false || !strings.Contains(fmt.Sprint(a["error"]), want) {
			t.Errorf("%s: %v, want %q", line, a, want)
		}
	}
	if a := c.talk(`{"op":"best"}`); a["ok"] != true || a["best"] != nil {
		t.Errorf("best of nothing: %v", a)
	}
	a := c.talk(`{"op":"ask","n":3}`)
	trials := a["trials"].([]any)
	if len(trials) != 3 || trials[2].(map[string]any)["id"] != 3.0 {
		t.Fatalf("ask: %v", a)
	}
	if a := c.talk(`{"op":"tell","id":3,"value":1.5,"elapsed":0.25}`); a["best"].(map[string]any)["value"] != 1.5 {
		t.Errorf("tell: %v", a)
	}
	if a := c.talk(`{"op":"tell","id":1,"status":"timed-out","message":"too slow"}`); a["ok"] != true {
		t.Errorf("tell a failure: %v", a)
	}
	for range 100 {
		a = c.talk(`{"op":"ask"}`)
		if a["exhausted"] == true {
			break
		}
		id := a["trials"].([]any)[0].(map[string]any)["id"]
		c.talk(fmt.Sprintf(`{"op":"tell","id":%v,"value":3}`, id))
	}
	if a["exhausted"] != true || a["ok"] != true {
		t.Errorf("at the end: %v", a)
	}
	if a := c.talk(`{"op":"trials"}`); len(a["trials"].([]any)) != int(p.Space.Size()) {
		t.Errorf("trials: %v", a)
	}
	if a := c.talk(`{"op":"importance"}`); a["ok"] != true || len(a["importance"].([]any)) != 3 {
		t.Errorf("importance: %v", a)
	}
	if a := c.talk(`{"op":"stop"}`); a["ok"] != true {
		t.Errorf("stop: %v", a)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeEnds(t *testing.T) {
	s := open(t, tiny(t), bayes.Options{}, nil)
	var out bytes.Buffer
	if err := bayes.Serve(context.Background(), s, strings.NewReader("{\"op\":\"ask\"}\n\n"), &out); err != nil || !strings.Contains(out.String(), `"id":1`) {
		t.Errorf("end of input: %v, %s", err, &out)
	}
	if err := bayes.Serve(context.Background(), s, strings.NewReader(strings.Repeat("x", 2<<20)), &out); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("endless line: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	defer w.Close()
	cancel()
	if err := bayes.Serve(ctx, s, r, &out); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
