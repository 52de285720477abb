// Package bridgetest lets tests write Generators and see what they leave behind: processes that
// they did not start themselves.
package bridgetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// MarkVariable is the variable of the environment that marks all processes of a test, which
// inherit it, with something of the test's own, such as its folder.
const MarkVariable = "PROTUNER_TEST_MARK"

// Marked lists the living processes with that mark, each by number and name. One that set it
// for itself and not when it was started, as a test may, is none of them.
func Marked(mark string) (out []string) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range all {
		text, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(text, []byte(MarkVariable+"="+mark+"\x00")) {
			continue
		}
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "comm"))
		out = append(out, filepath.Base(filepath.Dir(f))+" "+strings.TrimSpace(string(name)))
	}
	return out
}

// Settled waits for something that happens by itself within moments.
func Settled(t testing.TB, done func() bool, otherwise func() string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error(otherwise())
			return
		}
	}
}

// Source writes a Generator's source to a folder of the test's and returns its path.
func Source(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test_generator.cpp")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
