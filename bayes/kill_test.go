package bayes_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/protuner/protuner/bayes"
)

// The child makes killTrials trials, each with a pause so long that it is not over
// after killed kills, each of which leaves it at most longest, half of them from its first
// outcome on.
const (
	killTrials = 150
	killed     = 20
	pause      = 10 * time.Millisecond
	longest    = 60 * time.Millisecond
)

// TestMain makes the test binary the child that TestKillAndResume kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("BAYES_TEST_CHILD"); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func openStore(path string) (bayes.Store, error) {
	if strings.HasSuffix(path, ".db") {
		return bayes.OpenSQLite(context.Background(), path, "kill")
	}
	return bayes.OpenJSONLines(path, "kill")
}

func killOptions(t testing.TB) bayes.Options {
	o := small(t, "default")
	o.Seed = 11
	return o
}

// child runs the study in the store, and logs every evaluation it begins and
// every outcome that is safely told.
func child(path string) error {
	log, err := os.OpenFile(path+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	var t testing.B // only for the helpers' failures
	p := all(&t)[3]
	store, err := openStore(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := bayes.Open(ctx, p.Space, killOptions(&t), store)
	if err != nil {
		return err
	}
	for {
		if n := len(s.Trials()); n >= killTrials && s.Trials()[n-1].Outcome.Status != bayes.Pending {
			return s.Close()
		}
		trials, err := s.Ask(ctx, 1)
		if err != nil {
			return err
		}
		fmt.Fprintf(log, "begin %v\n", trials[0].Config)
		time.Sleep(pause)
		if err := s.Tell(ctx, trials[0].ID, p.Cost(trials[0].Config)); err != nil {
			return err
		}
		fmt.Fprintf(log, "told %v\n", trials[0].Config)
	}
}

// TestKillAndResume kills a child with SIGKILL at random moments, every other one once it
// has told an outcome: the others may still be starting. Whatever was told is never
// evaluated again, and the trials are in the end those of a search nobody disturbed.
func TestKillAndResume(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := all(t)[3]
	want := configs(play(t, p, killOptions(t), nil, killTrials))
	survived := 0 // stores
	for _, name := range []string{"kill.jsonl", "kill.db"} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewSource(1))
			path := filepath.Join(t.TempDir(), name)
			told := func() int {
				text, _ := os.ReadFile(path + ".log") // not there before the first child's
				return strings.Count(string(text), "\ntold ")
			}
			for kills := range killed {
				life := time.Duration(rng.Int63n(int64(longest)))
				var moment <-chan time.Time
				if kills%2 == 1 {
					moment = time.After(life)
				}
				before := told()
				cmd := exec.Command(exe)
				cmd.Env = append(os.Environ(), "BAYES_TEST_CHILD="+path)
				var out strings.Builder
				cmd.Stderr = &out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- cmd.Wait() }()
				for alive := true; alive; {
					select {
					case err := <-done:
						if err != nil {
							t.Fatalf("the child failed by itself: %v\n%s", err, &out)
						}
						t.Fatalf("the search was over after %d kills", kills)
					case <-moment:
						if err := cmd.Process.Kill(); err != nil {
							t.Fatal(err)
						}
						<-done
						alive = false
					case <-time.After(time.Millisecond):
						if moment == nil && told() > before {
							moment = time.After(life)
						}
					}
				}
			}
			if err := child(path); err != nil { // to the end
				t.Fatal(err)
			}
			store, err := openStore(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := bayes.Open(context.Background(), p.Space, killOptions(t), store)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := configs(s); got != want {
				t.Errorf("after the kills\n%s\nundisturbed\n%s", got, want)
			}
			checkLog(t, path+".log")
			if !t.Failed() {
				survived++
			}
		})
	}
	t.Logf("figure: %d of %d kills survived in each of %d stores, the trace as undisturbed", killed, killed, survived)
}

func checkLog(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	told := map[string]bool{}
	begun := 0
	in := bufio.NewScanner(f)
	for in.Scan() {
		what, config, _ := strings.Cut(in.Text(), " ")
		switch what {
		case "begin":
			begun++
			if told[config] {
				t.Errorf("%s was evaluated again after it was told", config)
			}
		case "told":
			told[config] = true
		}
	}
	if in.Err() != nil {
		t.Fatal(in.Err())
	}
	t.Logf("%d evaluations begun for %d trials", begun, killTrials)
	if begun > killTrials+killed {
		t.Errorf("%d evaluations begun for %d trials and %d kills", begun, killTrials, killed)
	}
}
