package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// HostLock keeps two protuners on one machine from timing at once. It is a file
// lock, so it goes with the process that held it.
type HostLock struct{ path string }

// NewHostLock uses the file that every protuner on the host uses, whatever its TMPDIR is; one
// there where /tmp is no folder for all.
func NewHostLock() HostLock {
	const name = "protuner-timing.lock"
	path := filepath.Join("/tmp", name)
	if _, err := os.Stat(path); err != nil && unix.Access("/tmp", unix.W_OK) != nil {
		path = filepath.Join(os.TempDir(), name)
	}
	return HostLock{path}
}

// lockPoll is how soon a waiting protuner notices that it is its turn.
const lockPoll = 2 * time.Millisecond

// With runs f while nobody else times.
func (l HostLock) With(ctx context.Context, f func() error) error {
	// A lock of each call's own: goroutines of one process exclude each other too.
	// Of another user's file in a folder for all, Linux refuses to open what would be made
	// where it is missing (fs.protected_regular), and allows to open what is there.
	flags := os.O_RDONLY
	if _, err := os.Stat(l.path); err != nil {
		flags |= os.O_CREATE
	}
	lock := flock.New(l.path, flock.SetPermissions(0o666), flock.SetFlag(flags))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("cannot take the timing lock %s: %w; remove the file if it belongs to another user", l.path, err)
	}
	defer lock.Close()
	if flags&os.O_CREATE != 0 {
		_ = os.Chmod(l.path, 0o666) // others may open it whatever this user's umask is
	}
	return f()
}
