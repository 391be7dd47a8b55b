package server

import "syscall"

// diesWithParent makes the kernel kill the process when the one that started it ends.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
