package fleet

import (
	"regexp"
	"time"
)

// rfc3339 is the form of a point in time. The time package is more generous: it reads a comma before the fraction and offsets of a day and more, which it cannot write
// again.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ParseTime reads a point in time in the form of RFC 3339. It is false for everything else, and for times that have no year of four digits in UTC.
func ParseTime(text string) (time.Time, bool) {
	if !rfc3339.MatchString(text) {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, false
	}
	year := at.UTC().Year()
	return at, year >= 0 && year <= maxYear
}
