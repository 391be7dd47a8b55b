//go:build unix

package login

import "syscall"

// apart lets a process live on by itself: an interrupt at the terminal is not for it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
