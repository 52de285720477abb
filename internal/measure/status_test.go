package measure

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
)

func TestStatusesHaveNames(t *testing.T) {
	for s := Invalid; s <= InfraFailed; s++ {
		if back, err := ParseStatus(s.String()); err != nil || back != s {
			t.Errorf("%s reads as %v, %v", s, back, err)
		}
	}
	if _, err := ParseStatus("tired"); err == nil {
		t.Error("tired is a status")
	}
	if got, message := StatusOf(nil); got != OK || message != "" {
		t.Errorf("what did not fail is %s, %s", got, message)
	}
	if got := Status(200).String(); got != "status(200)" {
		t.Errorf("status 200 is %q", got)
	}
}

// stored is what files and databases have of statuses.
type stored struct {
	Status Status         `json:"status"`
	Failed Status         `json:"failed,omitempty"`
	Counts map[Status]int `json:"counts,omitempty"`
}

// JSON, its keys and a database's columns hold the name, which is empty of no status.
func TestStatusesAreStoredByName(t *testing.T) {
	for s := Invalid; s <= InfraFailed; s++ {
		want := fmt.Sprintf(`{"status":%q,"failed":%[1]q,"counts":{%[1]q:2}}`, s.String())
		if s == Invalid {
			want = `{"status":"","counts":{"":2}}`
		}
		in := stored{s, s, map[Status]int{s: 2}}
		text, err := json.Marshal(in)
		if err != nil || string(text) != want {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
		var back stored
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, in) {
			t.Errorf("%s reads as %+v, %v", text, back, err)
		}
		column, err := s.Value()
		if err != nil || column != s.String() {
			t.Errorf("the column of %q is %v, %v", s, column, err)
		}
		var scanned Status
		if err := scanned.Scan(column); err != nil || scanned != s {
			t.Errorf("the column %v reads as %q, %v", column, scanned, err)
		}
	}
}

func TestUnknownStatusesAreRefused(t *testing.T) {
	for _, text := range []string{`{"status":"tired"}`, `{"status":"invalid"}`, `{"status":"OK"}`, `{"status":1}`, `{"counts":{"tired":1}}`} {
		if err := json.Unmarshal([]byte(text), new(stored)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
	for _, column := range []any{"tired", "invalid", int64(1), nil} {
		if err := new(Status).Scan(column); err == nil {
			t.Errorf("the column %v was read", column)
		}
	}
	none := Status(200)
	if text, err := json.Marshal(none); err == nil {
		t.Errorf("%s was written as %s", none, text)
	}
	if column, err := none.Value(); err == nil {
		t.Errorf("%s was stored as %v", none, column)
	}
}
