package httpapi

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// ConnectionLimits bound how many connections are open at the same time. What comes above them is closed at once.
type ConnectionLimits struct {
	// All is how many there may be together, Each how many of one address; a /64 network of IPv6 is one. 0 means no limit.
	All, Each int
	// Trusted are networks whose addresses may have as many as all together, such as those of proxies.
	Trusted []netip.Prefix
	// Logger takes a line for refused connections, one a minute at most. Required.
	Logger *slog.Logger
}

// LimitConnections returns a listener that keeps the limits.
func LimitConnections(listener net.Listener, limits ConnectionLimits) net.Listener {
	return &limitedListener{Listener: listener, limits: limits, open: map[string]int{}, told: rate.Sometimes{Interval: time.Minute}}
}

type limitedListener struct {
	net.Listener
	limits ConnectionLimits
	told   rate.Sometimes

	mu sync.Mutex
	// all counts the open connections, open those of each address that has any.
	all  int
	open map[string]int
}

// Accept waits for the next connection that the limits permit.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host := hostOf(connection.RemoteAddr().String())
		name, trusted := network(host), false
		if addr, err := netip.ParseAddr(host); err == nil {
			trusted = contains(l.limits.Trusted, addr.Unmap().WithZone(""))
		}
		if l.take(name, trusted) {
			return &limitedConnection{Conn: connection, release: sync.OnceFunc(func() { l.release(name) })}, nil
		}
		l.told.Do(func() {
			l.limits.Logger.Warn("connections are refused, there are too many", "remote_addr", host, "limit", l.limits.All, "limit_of_one_address", l.limits.Each)
		})
		_ = connection.Close() // nobody waits for it
	}
}

// take counts a connection, or reports that there are too many.
func (l *limitedListener) take(name string, trusted bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.All > 0 && l.all >= l.limits.All || l.limits.Each > 0 && l.open[name] >= l.limits.Each && !trusted {
		return false
	}
	l.all++
	l.open[name]++
	return true
}

func (l *limitedListener) release(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.open[name]--; l.open[name] == 0 {
		delete(l.open, name)
	}
}

// limitedConnection gives its place back when it is closed.
type limitedConnection struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *limitedConnection) Close() error {
	defer c.release()
	return c.Conn.Close()
}
