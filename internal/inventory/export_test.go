package inventory

import "time"

// RuntimeOf and Slim are tested by themselves.
var (
	RuntimeOf = runtimeOf
	Slim      = slim
)

// SetTimes makes a source faster: how long it collects changes, how often it compares everything, and how long a Shoot has to be missing.
func (g *GardenerSource) SetTimes(settle, full, grace time.Duration) {
	g.settle, g.full, g.grace = settle, full, grace
}
