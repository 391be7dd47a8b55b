// Package port keeps a TCP port of a loopback address for somebody who listens
// on it now and then: while nobody does, connections are refused and nobody else
// gets the port.
package port

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrReleased says that a port was given up.
var ErrReleased = errors.New("the port was given up")

// Port is a port that is held. Release it when done. It is safe for concurrent
// use.
type Port struct {
	address string

	mu sync.Mutex
	// socket is -1 when the port was given up: the number may then be that of
	// something else.
	socket int
}

// Hold binds a socket to a loopback address without listening on it. Port 0
// chooses a free one.
func Hold(address string) (*Port, error) {
	wanted, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	if !wanted.IP.IsLoopback() {
		return nil, fmt.Errorf("address %s: the simulator listens on loopback addresses only", address)
	}
	family, sockaddr := socketAddress(wanted.AddrPort())
	socket, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket: %w", err)
	}
	if err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err == nil {
		err = unix.Bind(socket, sockaddr)
	}
	var name unix.Sockaddr
	if err == nil {
		name, err = unix.Getsockname(socket)
	}
	if err != nil {
		_ = unix.Close(socket) // The first error says more.
		return nil, fmt.Errorf("hold %s: %w", address, err)
	}
	number := wanted.Port
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		number = name.Port
	case *unix.SockaddrInet6:
		number = name.Port
	}
	return &Port{address: net.JoinHostPort(wanted.IP.String(), strconv.Itoa(number)), socket: socket}, nil
}

// Address returns host and port.
func (p *Port) Address() string { return p.address }

// Listen opens the port. It is held also when the listener is closed. Nobody
// listens on a port that was given up.
func (p *Port) Listen() (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket < 0 {
		return nil, fmt.Errorf("listen on %s: %w", p.address, ErrReleased)
	}
	listener, err := (&net.ListenConfig{Control: share}).Listen(context.Background(), "tcp", p.address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// Release gives the port up. A second time it does nothing.
func (p *Port) Release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.socket < 0 {
		return nil
	}
	socket := p.socket
	p.socket = -1
	if err := unix.Close(socket); err != nil {
		return fmt.Errorf("release port: %w", err)
	}
	return nil
}

func socketAddress(address netip.AddrPort) (int, unix.Sockaddr) {
	ip := address.Addr().Unmap()
	if ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(address.Port()), Addr: ip.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(address.Port()), Addr: ip.As16()}
}

func share(_, _ string, conn syscall.RawConn) error {
	var failed error
	err := conn.Control(func(socket uintptr) {
		failed = unix.SetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	if err != nil {
		return err
	}
	return failed
}
