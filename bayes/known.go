package bayes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/protuner/protuner/bayes/space"
)

// ReadKnown reads what an earlier search found out from JSON: an object whose "trials"
// have a "config", a "status" and, when that is ok, a "value", as `protuner optimize
// --json` and the ask/tell request "trials" give. Configurations of another space are
// brought into sp (Space.Adopt). Pending and lost trials are left out.
func ReadKnown(r io.Reader, sp *space.Space) ([]Known, error) {
	var doc struct {
		Trials []struct {
			ID        int            `json:"id"`
			Config    map[string]any `json:"config"`
			Status    Status         `json:"status"`
			Value     *float64       `json:"value"`
			Deviation float64        `json:"deviation"`
			Message   string         `json:"message"`
		} `json:"trials"`
	}
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		return nil, fmt.Errorf("earlier search: %w", err)
	}
	var out []Known
	for _, t := range doc.Trials {
		o := Outcome{Status: t.Status, Deviation: t.Deviation, Message: t.Message}
		if t.Status == Pending || t.Status == Lost {
			continue
		}
		if t.Value != nil {
			o.Value = *t.Value
		} else if t.Status == OK {
			return nil, fmt.Errorf("earlier search: trial %d is ok and has no value", t.ID)
		}
		if err := o.validate(); err != nil {
			return nil, fmt.Errorf("earlier search: trial %d: %w", t.ID, err)
		}
		out = append(out, Known{Config: sp.Adopt(t.Config), Outcome: o})
	}
	if len(out) == 0 {
		return nil, errors.New("earlier search: it has no trials with an outcome")
	}
	return out, nil
}
