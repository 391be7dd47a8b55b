package apiserver

import (
	"net"
	"sync"
)

// trackingListener remembers the connections that it accepted, so that a stop
// can cut those whose clients do not go away by themselves.
type trackingListener struct {
	net.Listener

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newTrackingListener(inner net.Listener) *trackingListener {
	return &trackingListener{Listener: inner, conns: map[net.Conn]struct{}{}}
}

// Accept implements net.Listener.
func (l *trackingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: conn, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[tracked] = struct{}{}
	return tracked, nil
}

// cut closes every connection that is still open.
func (l *trackingListener) cut() {
	l.mu.Lock()
	open := make([]net.Conn, 0, len(l.conns))
	for conn := range l.conns {
		open = append(open, conn)
	}
	l.mu.Unlock()
	for _, conn := range open {
		_ = conn.Close() // It is being cut: there is nobody left to tell.
	}
}

type trackedConn struct {
	net.Conn
	listener *trackingListener
}

// Close implements net.Conn.
func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
