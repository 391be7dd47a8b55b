package httpapi

import (
	"container/list"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxClients is how many clients the limiter remembers. The one that was away for longest is forgotten first, and begins anew.
const maxClients = 10_000

// clients limit how many requests each client may make in a time. A nil *clients limits nobody.
type clients struct {
	rate  rate.Limit
	burst int
	clock func() time.Time

	mu     sync.Mutex
	byName map[string]*list.Element
	// recent holds *client, the one that came last in front.
	recent *list.List
}

type client struct {
	name    string
	limiter *rate.Limiter
}

// newClients returns nil for a rate of 0.
func newClients(perSecond float64, burst int, clock func() time.Time) *clients {
	if perSecond == 0 {
		return nil
	}
	return &clients{rate: rate.Limit(perSecond), burst: burst, clock: clock, byName: map[string]*list.Element{}, recent: list.New()}
}

// take counts a request of a client, or says why it cannot be served now.
func (c *clients) take(name string) error {
	if c == nil {
		return nil
	}
	now := c.clock()
	reservation := c.limiterOf(name).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	reservation.CancelAt(now)
	return &statusError{
		status: http.StatusTooManyRequests, message: fmt.Sprintf("more than %g requests per second; try again later", float64(c.rate)), retryAfter: wait,
	}
}

func (c *clients) limiterOf(name string) *rate.Limiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.byName[name]; ok {
		c.recent.MoveToFront(element)
		return element.Value.(*client).limiter //nolint:errcheck // the list holds nothing else
	}
	if c.recent.Len() >= maxClients {
		oldest := c.recent.Remove(c.recent.Back())
		delete(c.byName, oldest.(*client).name) //nolint:errcheck // the list holds nothing else
	}
	limiter := rate.NewLimiter(c.rate, c.burst)
	c.byName[name] = c.recent.PushFront(&client{name: name, limiter: limiter})
	return limiter
}

// byUser names clients that are known.
func byUser(user string) string { return "user " + user }

// byAddress names clients that are not, and what they come for, which has a budget of its own.
func byAddress(purpose, address string) string { return purpose + " address " + network(address) }

// network is the client that an address belongs to. A network of IPv6 is one client: its owner has more addresses than can be counted.
func network(address string) string {
	if addr, err := netip.ParseAddr(address); err == nil && addr.Is6() && !addr.Is4In6() {
		if network, err := addr.WithZone("").Prefix(64); err == nil {
			return network.String()
		}
	}
	return address
}
