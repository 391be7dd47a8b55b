//go:build !linux

package server

import "syscall"

// diesWithParent does nothing here: only Linux can.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
