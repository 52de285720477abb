package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// Cache holds what protuner compiled: plugins, runners, runtimes, Generators. An
// entry is a folder named after everything its content depends on, made in a
// temporary place and renamed when it is whole, so that a process that dies
// half-way leaves nothing that another could take for an entry.
type Cache struct{ Dir string }

// cacheVariable names another folder for the cache.
const cacheVariable = "PROTUNER_CACHE"

// DefaultCache is PROTUNER_CACHE, or protuner's folder in the user's cache, or the user's
// own temporary one where the user has no cache.
func DefaultCache() Cache {
	if d := os.Getenv(cacheVariable); d != "" {
		return Cache{d}
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return Cache{temporary()}
	}
	return Cache{filepath.Join(d, "protuner")}
}

// temporary is where a user without a home keeps what code is loaded from. Anyone may have
// made a folder of that name, so it is used only once checkTemporary has seen it.
func temporary() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("protuner-%d", os.Geteuid()))
}

// checkTemporary refuses the temporary folder where others may have put something there, and
// says which variable names another. Any other folder passes. The error is a *MissingError.
func checkTemporary(dir, variable string) error {
	if dir != temporary() {
		return nil
	}
	why := ""
	if info, err := os.Lstat(dir); err != nil {
		why = err.Error()
	} else if why = distrust(info, os.Geteuid()); why == "" {
		return nil
	}
	return &MissingError{What: "folder", Why: dir + " cannot be used: " + why, Mend: "set " + variable + " to a folder of your own"}
}

// distrust says why code of the user's is not to be loaded from there; empty if it may be.
func distrust(info fs.FileInfo, user int) string {
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return "it is a file or a link and no folder"
	case !ok || int(owner.Uid) != user:
		return "it belongs to another user, whose code would be run"
	case info.Mode().Perm()&0o022 != 0:
		return "others may write to it, and their code would be run"
	}
	return ""
}

// key hashes the parts an entry depends on.
func key(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s;", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:24]
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// entry returns the folder of that name, made by fill if it is not there or if
// fresh says that it is out of date (nil: never). Two processes that want one
// entry take turns; the second finds it done.
func (c Cache) entry(ctx context.Context, name string, fresh func(dir string) bool, fill func(dir string) error) (string, error) {
	if err := c.prepare(); err != nil {
		return "", err
	}
	dir := filepath.Join(c.Dir, name)
	usable := func() bool { return exists(dir) && (fresh == nil || fresh(dir)) }
	if usable() {
		return dir, nil
	}
	lock := flock.New(filepath.Join(c.Dir, name+".lock"))
	if _, err := lock.TryLockContext(ctx, lockPoll); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", fmt.Errorf("cannot lock the cache: %w; set %s to a folder that can be written", err, cacheVariable)
	}
	defer lock.Unlock()
	if usable() {
		return dir, nil
	}
	// Whoever made these was killed: nobody else fills this entry now.
	stale, _ := filepath.Glob(filepath.Join(c.Dir, name+".tmp*"))
	for _, dir := range stale {
		os.RemoveAll(dir)
	}
	tmp, err := os.MkdirTemp(c.Dir, name+".tmp")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := fill(tmp); err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return "", err
	}
	return dir, nil
}

// prepare makes the cache's folder where there is none. The temporary one is looked at once
// it is there, as another may have made it.
func (c Cache) prepare() error {
	mode := fs.FileMode(0o755)
	if c.Dir == temporary() {
		mode = 0o700
	}
	if err := os.MkdirAll(c.Dir, mode); err != nil {
		return fmt.Errorf("cannot make the cache %s: %w; set %s to a folder that can be written", c.Dir, err, cacheVariable)
	}
	return checkTemporary(c.Dir, cacheVariable)
}

// depsFile lists, in a cache entry, the files it was compiled from with their
// hashes.
const depsFile = "deps"

// writeDeps turns the compiler's list of what it read (a make rule) into that
// list. Files below the folder skip belong to an installation that the entry's name
// already holds.
func writeDeps(dir, makeRule string, skip string) error {
	text, err := os.ReadFile(makeRule)
	if err != nil {
		return err
	}
	// In a rule a space of a name is written "\ ", a # "\#" and a $ "$$".
	const space = "\x00"
	_, list, _ := strings.Cut(strings.NewReplacer("\\\n", " ", "\\ ", space, "\\#", "#", "$$", "$").Replace(string(text)), ":")
	var out strings.Builder
	for _, f := range strings.Fields(list) {
		f = strings.ReplaceAll(f, space, " ")
		if strings.HasPrefix(f, skip+"/") {
			continue
		}
		sum, err := hashFile(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "%s %s\n", sum, f)
	}
	return os.WriteFile(filepath.Join(dir, depsFile), []byte(out.String()), 0o644)
}

// depsFresh says whether every file of the list is still as it was.
func depsFresh(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, depsFile))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		want, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		if got, err := hashFile(file); err != nil || got != want {
			return false
		}
	}
	return true
}
