//go:build !linux

package command

import "syscall"

// attributes of a program, which outlives us where we are killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
