package engine

// WakesOutstanding reports whether wakes were not delivered yet.
func (e *Engine) WakesOutstanding() bool {
	e.flights.mu.Lock()
	defer e.flights.mu.Unlock()
	return len(e.flights.woken) > 0
}
