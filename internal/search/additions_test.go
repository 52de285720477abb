package search

import (
	"fmt"
	"testing"
)

// Turning an addition off makes the paper's default of what turning it on made, and
// on makes something else.
func TestAdditionsTurnOff(t *testing.T) {
	plain := fmt.Sprintf("%+v", MCTSDefaults())
	for _, a := range Additions() {
		o := MCTSDefaults()
		a.On(&o)
		if err := o.Validate(); err != nil || fmt.Sprintf("%+v", o) == plain {
			t.Errorf("%s: on, it changes nothing or is not valid: %v", a.Name, err)
		}
		a.Off(&o)
		if got := fmt.Sprintf("%+v", o); got != plain {
			t.Errorf("%s: off, it leaves %s", a.Name, got)
		}
	}
}
