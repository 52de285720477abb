package command

import "syscall"

// attributes of a program: no limit is kept and no group is killed by a process that was
// killed itself, so the kernel kills the program then.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
