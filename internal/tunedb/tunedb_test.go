package tunedb

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/protuner/protuner/internal/measure"
)

func open(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func fresh(t *testing.T) *DB {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "a folder", "protuner.db"))
}

func workload(algorithm string) Workload {
	return Workload{Algorithm: algorithm, Generator: "harris", Params: []string{"a=1"}, Halide: "21.0.0", Target: "host", Threads: 2, Protocol: 1}
}

func begin(t *testing.T, db *DB, w Workload) *Recorder {
	t.Helper()
	r, err := db.Begin(t.Context(), w, map[string]int{"seed": 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at is the n-th moment of a clock whose fractions of seconds have all lengths.
func at(n int) time.Time { return time.Unix(1700000000, int64(n)*50_000_000).UTC() }

func measurement(n int, status measure.Status) Measurement {
	m := Measurement{Hash: fmt.Sprintf("%016x", n), Text: fmt.Sprintf("f.bound_extent(x, %d)\n", n), Origin: "random", Trace: "t", Status: status,
		Lower: 1, Link: 2, Check: 3, Time: 4, Taken: at(n)}
	if status == measure.OK {
		m.Best = time.Duration(1000 - n)
		m.Samples = []time.Duration{m.Best + 5, m.Best}
	} else {
		m.Message = "because"
	}
	return m
}

func record(t *testing.T, r *Recorder, m Measurement) {
	t.Helper()
	if err := r.Record(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func known(t *testing.T, r *Recorder) []Measurement {
	t.Helper()
	out, err := r.Known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsRecordedIsKnown(t *testing.T) {
	db := fresh(t)
	r := begin(t, db, workload("a1"))
	var want []Measurement
	for i, status := range []measure.Status{measure.OK, measure.BuildFailed, measure.OK, measure.Crashed, measure.TimedOut, measure.OK} {
		m := measurement(i, status)
		record(t, r, m)
		want = append(want, m)
	}
	if got := known(t, r); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// The order is that of time, whatever the order of writing.
	r = begin(t, db, workload("a2"))
	for _, i := range []int{7, 20, 3, 10, 0, 12, 21, 2} {
		record(t, r, measurement(i, measure.OK))
	}
	var order []string
	for _, m := range known(t, r) {
		order = append(order, m.Hash[14:])
	}
	if got := strings.Join(order, " "); got != "00 02 03 07 0a 0c 14 15" {
		t.Errorf("in the order %s", got)
	}
}

func TestTheFirstMeasurementStays(t *testing.T) {
	db := fresh(t)
	r := begin(t, db, workload("a1"))
	first := measurement(1, measure.OK)
	record(t, r, first)
	again := first
	again.Best, again.Samples, again.Origin = 1, []time.Duration{1}, "another"
	record(t, r, again)
	record(t, begin(t, db, workload("a1")), again) // also by another run
	if got := known(t, r); len(got) != 1 || !reflect.DeepEqual(got[0], first) {
		t.Errorf("got %+v", got)
	}
	// Under another key it is another measurement.
	other := begin(t, db, workload("a2"))
	record(t, other, again)
	if got := known(t, other); len(got) != 1 || got[0].Best != 1 {
		t.Errorf("under another key: %+v", got)
	}
	if got := known(t, r); len(got) != 1 {
		t.Errorf("known under the first key: %+v", got)
	}
}

func TestFailuresOfTheInfrastructureAreMeasuredAgain(t *testing.T) {
	db := fresh(t)
	r := begin(t, db, workload("a1"))
	record(t, r, measurement(1, measure.InfraFailed))
	if got := known(t, r); len(got) != 0 {
		t.Errorf("known %+v", got)
	}
	record(t, r, measurement(1, measure.InfraFailed))
	record(t, r, measurement(1, measure.OK))
	record(t, r, measurement(1, measure.InfraFailed)) // undoes nothing
	if got := known(t, r); len(got) != 1 || got[0].Status != measure.OK || got[0].Message != "" || got[0].Best != 999 {
		t.Errorf("got %+v", got)
	}
}

// A database is read as it was written: without a status where a row has none, and not at all
// where it has one that nobody knows.
func TestStatusesOfRows(t *testing.T) {
	db := fresh(t)
	r := begin(t, db, workload("a1"))
	record(t, r, measurement(1, measure.Crashed))
	change := func(to string) {
		t.Helper()
		if _, err := db.sql.Exec(`UPDATE measurements SET status = ?`, to); err != nil {
			t.Fatal(err)
		}
	}
	var text string
	if err := db.sql.QueryRow(`SELECT status FROM measurements`).Scan(&text); err != nil || text != "crashed" {
		t.Errorf("stored as %q, %v", text, err)
	}
	change("")
	if got := known(t, r); len(got) != 1 || got[0].Status != measure.Invalid {
		t.Errorf("a row without a status: %+v", got)
	}
	change("splendid")
	if _, err := r.Known(t.Context()); err == nil || !strings.Contains(err.Error(), `"splendid" is a status which no measurement has`) {
		t.Errorf("a status that nobody knows: %v", err)
	}
}

// step is a measurement that is recorded, and what stands then.
type step struct {
	m      Measurement
	status measure.Status
	build  time.Duration // the limit that stands with it
	memory int64
}

// recordAll takes the steps one after the other, of one schedule.
func recordAll(t *testing.T, steps []step) {
	t.Helper()
	r := begin(t, fresh(t), workload("a1"))
	for _, s := range steps {
		record(t, r, s.m)
		if got := known(t, r); len(got) != 1 || got[0].Status != s.status || got[0].BuildLimit != s.build || got[0].MemoryLimit != s.memory {
			t.Errorf("after %s within %v and %d bytes: %+v", s.m.Status, s.m.BuildLimit, s.m.MemoryLimit, got)
		}
	}
}

// What timed out while it was built may be measured again with more time, and with nothing else;
// where it is slow then, that stands.
func TestBuildsThatTimedOutAreMeasuredAgain(t *testing.T) {
	late := func(limit time.Duration) Measurement {
		m := measurement(1, measure.TimedOut)
		m.BuildLimit = limit
		return m
	}
	recordAll(t, []step{
		{late(time.Second), measure.TimedOut, time.Second, 0}, {late(3 * time.Second), measure.TimedOut, 3 * time.Second, 0}, {late(2 * time.Second), measure.TimedOut, 3 * time.Second, 0},
		{measurement(1, measure.InfraFailed), measure.TimedOut, 3 * time.Second, 0},
		{measurement(1, measure.OK), measure.OK, 0, 0}, {late(time.Hour), measure.OK, 0, 0},
	})
	slow := measurement(1, measure.TimedOut)
	recordAll(t, []step{
		{late(time.Second), measure.TimedOut, time.Second, 0}, {slow, measure.TimedOut, 0, 0},
		{late(time.Hour), measure.TimedOut, 0, 0}, {measurement(1, measure.OK), measure.TimedOut, 0, 0},
	})
}

// What ran out of memory may be measured again with more of it, and with nothing else.
func TestWhatRanOutOfMemoryIsMeasuredAgain(t *testing.T) {
	large := func(limit int64) Measurement {
		m := measurement(1, measure.OutOfMemory)
		m.MemoryLimit = limit
		return m
	}
	recordAll(t, []step{
		{large(0), measure.OutOfMemory, 0, 0}, {large(4), measure.OutOfMemory, 0, 4}, {large(2), measure.OutOfMemory, 0, 4}, {large(9), measure.OutOfMemory, 0, 9},
		{measurement(1, measure.InfraFailed), measure.OutOfMemory, 0, 9}, {measurement(1, measure.Crashed), measure.Crashed, 0, 0}, {large(99), measure.Crashed, 0, 0},
	})
}

// What a schedule failed with after it was measured stands, also where it never was.
func TestRefutedSchedulesStayRefuted(t *testing.T) {
	late, large := measurement(1, measure.TimedOut), measurement(1, measure.OutOfMemory)
	late.BuildLimit, large.MemoryLimit = time.Second, 4
	for name, before := range map[string][]Measurement{
		"never measured":               nil,
		"it worked":                    {measurement(1, measure.OK)},
		"timed out while it was built": {late},
		"ran out of memory":            {large},
		"the machine failed":           {measurement(1, measure.InfraFailed)},
	} {
		db := fresh(t)
		r := begin(t, db, workload("a1"))
		for _, m := range append(before, measurement(2, measure.OK)) {
			record(t, r, m)
		}
		m := measurement(1, measure.OK)
		if err := r.Refute(t.Context(), m.Hash, m.Text, measure.WrongOutput, "one element"); err != nil {
			t.Fatal(err)
		}
		record(t, r, m)
		all := known(t, r)
		at := slices.IndexFunc(all, func(k Measurement) bool { return k.Hash == m.Hash })
		if len(all) != 2 || at < 0 {
			t.Fatalf("%s: known %+v", name, all)
		}
		if got := all[at]; got.Status != measure.WrongOutput || got.Message != "one element" || got.Text != m.Text || got.Best != 0 || got.BuildLimit != 0 || got.MemoryLimit != 0 {
			t.Errorf("%s: stored as %+v", name, got)
		}
		if top, err := db.Fastest(t.Context(), workload("a1").Key(), 0); err != nil || len(top) != 1 || top[0].Hash == m.Hash {
			t.Errorf("%s: the fastest are %+v, %v", name, top, err)
		}
		if failed, err := db.Failed(t.Context(), workload("a1").Key()); err != nil || !failed[m.Hash] {
			t.Errorf("%s: failed are %v, %v", name, failed, err)
		}
		for hash, want := range map[string]measure.Status{m.Hash: measure.WrongOutput, measurement(2, measure.OK).Hash: measure.OK, "nobody's": measure.Invalid} {
			if got, err := r.Status(t.Context(), hash); err != nil || got != want {
				t.Errorf("%s: schedule %s is %v, %v; want %v", name, hash, got, err, want)
			}
		}
	}
}

func TestCountsFastestAndRuns(t *testing.T) {
	db := fresh(t)
	w := workload("a1")
	r := begin(t, db, w)
	for i, s := range []measure.Status{measure.OK, measure.OK, measure.Crashed, measure.OK, measure.Crashed, measure.WrongOutput} {
		record(t, r, measurement(i, s))
	}
	counts, err := db.Counts(t.Context(), w.Key())
	if err != nil || !reflect.DeepEqual(counts, map[measure.Status]int{measure.OK: 3, measure.Crashed: 2, measure.WrongOutput: 1}) {
		t.Errorf("counts %v, %v", counts, err)
	}
	for n, want := range map[int]int{0: 3, 2: 2, 9: 3} {
		top, err := db.Fastest(t.Context(), w.Key(), n)
		if err != nil || len(top) != want || top[0].Best != 997 || top[1].Best != 999 {
			t.Errorf("the fastest %d: %+v, %v", n, top, err)
		}
	}
	if top, err := db.Fastest(t.Context(), "nobody", 3); err != nil || len(top) != 0 {
		t.Errorf("of an unknown key: %v, %v", top, err)
	}
	second := begin(t, db, w)
	if err := second.End(t.Context(), map[string]string{"winner": "x"}); err != nil {
		t.Fatal(err)
	}
	w.Generator = "hist"
	begin(t, db, w)
	runs, err := db.Runs(t.Context(), "harris")
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs %+v, %v", runs, err)
	}
	newest, oldest := runs[0], runs[1]
	if newest.ID != second.RunID() || newest.Ended.IsZero() || string(newest.Report) != `{"winner":"x"}` {
		t.Errorf("the newest: %+v", newest)
	}
	if !oldest.Ended.IsZero() || oldest.Report != nil || string(oldest.Manifest) != `{"seed":1}` || !reflect.DeepEqual(oldest.Workload, workload("a1")) {
		t.Errorf("the oldest: %+v", oldest)
	}
	if all, err := db.Runs(t.Context(), ""); err != nil || len(all) != 3 {
		t.Errorf("all runs: %d, %v", len(all), err)
	}
}

func TestKeysHoldEverything(t *testing.T) {
	seen := map[string]bool{workload("a1").Key(): true}
	v := reflect.TypeFor[Workload]()
	for i := range v.NumField() {
		w := workload("a1")
		f := reflect.ValueOf(&w).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Int, reflect.Int64:
			f.SetInt(f.Int() + 1)
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.Slice:
			f.Set(reflect.Append(f, reflect.ValueOf("x")))
		default:
			t.Fatalf("a field of kind %s", f.Kind())
		}
		if seen[w.Key()] {
			t.Errorf("%s changes no key", v.Field(i).Name)
		}
		seen[w.Key()] = true
	}
}

func TestReopenedDatabaseGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd name?#%20.db")
	for round := range 3 {
		db, err := Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		r := begin(t, db, workload("a1"))
		if got := known(t, r); len(got) != round {
			t.Errorf("round %d: %d known", round, len(got))
		}
		record(t, r, measurement(round, measure.OK))
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is elsewhere: %v", err)
	}
}

func TestWhatIsNoDatabaseIsLeftAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	text := strings.Repeat("these are my notes\n", 100)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), "is no protuner database; name another file with --db") {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != text {
		t.Errorf("the file changed: %v", err)
	}
	if left, _ := filepath.Glob(path + "-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := Open(t.Context(), filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "--db") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(path, "below.db")); err == nil || !strings.Contains(err.Error(), "cannot make the folder") {
		t.Errorf("below a file: %v", err)
	}
}

// Another program's database is one of SQLite's, but not ours to write into.
func TestForeignDatabasesAreLeftAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "music.db")
	handle, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handle.Exec(`CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('a')`); err != nil {
		t.Fatal(err)
	}
	handle.Close()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "no protuner database") {
		t.Errorf("got %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed: %v", err)
	}
}

func TestNewerSchemasAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.db")
	db := open(t, path)
	record(t, begin(t, db, workload("a1")), measurement(1, measure.OK))
	if _, err := db.sql.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`); err != nil {
		t.Fatal(err)
	}
	db.Close()
	_, err := Open(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), "has schema 999") || !strings.Contains(err.Error(), "update protuner or name another with --db") {
		t.Errorf("got %v", err)
	}
}

func TestDamageIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "torn.db")
	db := open(t, path)
	r := begin(t, db, workload("a1"))
	for i := range 200 {
		record(t, r, measurement(i, measure.OK))
	}
	db.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 8192; i < len(whole); i++ {
		whole[i] = 0xaa
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err = Open(t.Context(), path)
	if err == nil {
		defer db.Close()
		_, err = db.Export(t.Context(), &bytes.Buffer{})
	}
	if err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v", err)
	}
}

func TestExportedAndImportedAgain(t *testing.T) {
	from := fresh(t)
	for _, algorithm := range []string{"a1", "a2"} {
		r := begin(t, from, workload(algorithm))
		for i, s := range []measure.Status{measure.OK, measure.Crashed, measure.InfraFailed, measure.OK} {
			record(t, r, measurement(i, s))
		}
	}
	var text bytes.Buffer
	if n, err := from.Export(t.Context(), &text); err != nil || n != 8 {
		t.Fatalf("exported %d, %v", n, err)
	}
	to := fresh(t)
	if n, err := to.Import(t.Context(), bytes.NewReader(text.Bytes())); err != nil || n != 8 {
		t.Fatalf("imported %d, %v", n, err)
	}
	var again bytes.Buffer
	if _, err := to.Export(t.Context(), &again); err != nil || again.String() != text.String() {
		t.Errorf("%v\n%s\nbecame\n%s", err, &text, &again)
	}
	// Once more, and over what was measured here before, changes nothing.
	r := begin(t, to, workload("a1"))
	mine := measurement(77, measure.OK)
	record(t, r, mine)
	if _, err := to.Import(t.Context(), bytes.NewReader(text.Bytes())); err != nil {
		t.Fatal(err)
	}
	if got := known(t, r); len(got) != 4 || !reflect.DeepEqual(got[3], mine) {
		t.Errorf("known after importing twice: %+v", got)
	}
}

func TestBadLinesImportNothing(t *testing.T) {
	good, err := json.Marshal(line{exchangeVersion, workload("a1"), measurement(1, measure.OK)})
	if err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) string {
		out := strings.Replace(string(good), from, to, 1)
		if out == string(good) {
			t.Fatalf("%s is not in %s", from, good)
		}
		return out
	}
	for name, c := range map[string]struct{ text, want string }{
		"text":              {"hello", "line 3: it is no exported measurement"},
		"a newer version":   {change(`"version":2`, `"version":3,"colour":"red"`), "line 3: it has version 3, this protuner reads up to 2"},
		"no version":        {change(`"version":2,`, ``), "it is no exported measurement: it has no version"},
		"an unknown field":  {change(`"version":2`, `"version":2,"colour":"red"`), "it is no exported measurement"},
		"no algorithm":      {change(`"a1"`, `""`), "it names no algorithm, schedule or status"},
		"an unknown status": {change(`"ok"`, `"splendid"`), "which no measurement has"},
		"ok without a time": {change(`"best_ns":999`, `"best_ns":0`), "do not go together"},
		"an invalid status": {strings.Replace(change(`"ok"`, `"invalid"`), `"best_ns":999`, `"best_ns":0`, 1), "which no measurement has"},
		"a time of failure": {change(`"ok"`, `"crashed"`), "do not go together"},
		"a negative time":   {strings.Replace(change(`"ok"`, `"crashed"`), `"best_ns":999`, `"best_ns":-1`, 1), "do not go together"},
		"two on one line":   {string(good) + string(good), "it is no exported measurement"},
		"a year too far":    {change(`"2023-11-14T22:13:20.05Z"`, `"9999-12-31T23:59:59-14:00"`), "it was taken in the year 10000"},
	} {
		t.Run(name, func(t *testing.T) {
			db := fresh(t)
			n, err := db.Import(t.Context(), strings.NewReader(string(good)+"\n\n"+c.text+"\n"))
			if n != 0 || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d, %v; want %q", n, err, c.want)
			}
			if n, err := db.Export(t.Context(), &bytes.Buffer{}); n != 0 || err != nil {
				t.Errorf("%d were imported, %v", n, err)
			}
		})
	}
}

// FuzzImport holds that whatever is let in can be read, exported and imported again.
func FuzzImport(f *testing.F) {
	for i, status := range []measure.Status{measure.OK, measure.Crashed, measure.InfraFailed} {
		text, err := json.Marshal(line{exchangeVersion, workload("a1"), measurement(i, status)})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"version":1,"workload":{"algorithm":"a"},"measurement":{"hash":"h","status":"crashed","taken":"9999-12-31T23:59:59-14:00"}}`))
	f.Add([]byte(`{"version":1,"workload":{"algorithm":"a","params":null},"measurement":{"hash":"h","status":"ok","best_ns":1,"samples_ns":null}}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := decodeLine(text); err != nil {
			return
		}
		db := fresh(t)
		if bytes.ContainsAny(text, "\n\r") {
			return // more than one line
		}
		if n, err := db.Import(t.Context(), bytes.NewReader(text)); n != 1 || err != nil {
			t.Fatalf("imported %d of a good line, %v", n, err)
		}
		var once, twice bytes.Buffer
		if _, err := db.Export(t.Context(), &once); err != nil {
			t.Fatal(err)
		}
		other := fresh(t)
		if _, err := other.Import(t.Context(), bytes.NewReader(once.Bytes())); err != nil {
			t.Fatalf("%v: %s", err, &once)
		}
		if _, err := other.Export(t.Context(), &twice); err != nil || once.String() != twice.String() {
			t.Fatalf("%v\n%s\nbecame\n%s", err, &once, &twice)
		}
	})
}

func TestConcurrentRecordersOfOneProcess(t *testing.T) {
	db := fresh(t)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			r, err := db.Begin(t.Context(), workload("a1"), nil)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 25 {
				m := measurement(i, measure.OK)
				m.Origin = fmt.Sprint(w)
				if err := r.Record(t.Context(), m); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if counts, err := db.Counts(t.Context(), workload("a1").Key()); err != nil || counts[measure.OK] != 25 {
		t.Errorf("counts %v, %v", counts, err)
	}
}

func TestCancelledContexts(t *testing.T) {
	db := fresh(t)
	r := begin(t, db, workload("a1"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Record(ctx, measurement(1, measure.OK)); err == nil {
		t.Error("recorded under a context that has ended")
	}
	if got := known(t, r); len(got) != 0 {
		t.Errorf("known %+v", got)
	}
}

// The likest workload comes first, of each the fastest with decisions, others' Generators and
// this one's own do not come, and where nothing ran there is nothing to come.
func TestElsewhere(t *testing.T) {
	db := fresh(t)
	put := func(n int, status measure.Status, change func(*Workload)) {
		w := workload("a1")
		change(&w)
		m := measurement(n, status)
		r := begin(t, db, w)
		record(t, r, m)
		if n == 3 { // the fastest there was polished
			polished := measurement(7, status)
			polished.Trace, polished.Best = "", m.Best/2
			record(t, r, polished)
		}
	}
	put(1, measure.OK, func(w *Workload) { w.Params, w.Halide = []string{"a=2"}, "19.0.0" })
	put(2, measure.OK, func(w *Workload) { w.Params = []string{"a=3"} })
	put(3, measure.OK, func(w *Workload) { w.Params = []string{"a=4"} })
	put(4, measure.Crashed, func(w *Workload) { w.Params = []string{"a=5"} })
	put(5, measure.OK, func(w *Workload) { w.Generator = "hist" })
	here := begin(t, db, workload("a1"))
	record(t, here, measurement(6, measure.OK))
	for n, want := range map[int][]int{0: nil, 2: {3, 2}, 9: {3, 2, 1}} {
		found, err := here.Elsewhere(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		var hashes []string
		for _, m := range found {
			hashes = append(hashes, m.Hash)
		}
		var wanted []string
		for _, k := range want {
			wanted = append(wanted, measurement(k, measure.OK).Hash)
		}
		if !slices.Equal(hashes, wanted) {
			t.Errorf("%d asked for: got %v, want %v", n, hashes, wanted)
		}
	}
}
