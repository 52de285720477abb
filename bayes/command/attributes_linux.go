package command

import "syscall"

// attributes of a program. Once we are killed nobody keeps its limit or kills its group, so the
// kernel kills it then.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
