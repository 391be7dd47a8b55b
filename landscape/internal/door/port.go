package door

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// hold binds a socket to the address without listening on it. As long as it
// exists nobody else gets the port, and while no listener shares it connections
// are refused.
func hold(address string) (socket int, bound string, err error) {
	wanted, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return 0, "", fmt.Errorf("read address: %w", err)
	}
	if !wanted.IP.IsLoopback() {
		return 0, "", fmt.Errorf("address %s: the simulator listens on loopback addresses only", address)
	}
	family, sockaddr := socketAddress(wanted.AddrPort())
	socket, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, "", fmt.Errorf("make socket: %w", err)
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
		return 0, "", fmt.Errorf("hold %s: %w", address, err)
	}
	port := wanted.Port
	switch name := name.(type) {
	case *unix.SockaddrInet4:
		port = name.Port
	case *unix.SockaddrInet6:
		port = name.Port
	}
	return socket, net.JoinHostPort(wanted.IP.String(), strconv.Itoa(port)), nil
}

func socketAddress(address netip.AddrPort) (int, unix.Sockaddr) {
	ip := address.Addr().Unmap()
	if ip.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(address.Port()), Addr: ip.As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(address.Port()), Addr: ip.As16()}
}

func sharePort(_, _ string, conn syscall.RawConn) error {
	var failed error
	err := conn.Control(func(socket uintptr) {
		failed = unix.SetsockoptInt(int(socket), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
	})
	if err != nil {
		return err
	}
	return failed
}
