//go:build !unix

package login

import "syscall"

// apart lets a process live on by itself.
func apart() *syscall.SysProcAttr { return nil }
