package window

import (
	"fmt"
	"strings"
	"time"
)

// Days is a set of weekdays on which a window may begin. The zero value holds every day.
type Days uint8

// ParseDays reads a list of English weekdays: full names or their first three letters, in any letter case. An empty list means every day.
// Any other word is refused: a list that is not understood must not become a wider one.
func ParseDays(names []string) (Days, error) {
	var days Days
	for _, name := range names {
		d, ok := parseDay(name)
		if !ok {
			return 0, fmt.Errorf("%q is not a weekday such as Monday or Mon", name)
		}
		days |= 1 << d
	}
	return days, nil
}

func parseDay(name string) (time.Weekday, bool) {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if full := d.String(); strings.EqualFold(name, full) || strings.EqualFold(name, full[:3]) {
			return d, true
		}
	}
	return 0, false
}

// Has says whether a window may begin on that weekday.
func (d Days) Has(weekday time.Weekday) bool {
	return d == 0 || d&(1<<weekday) != 0
}

// Names lists the weekdays from Monday on in their three-letter form, and nothing for every day.
func (d Days) Names() []string {
	var names []string
	for i := range 7 {
		if weekday := time.Weekday((i + 1) % 7); d != 0 && d.Has(weekday) {
			names = append(names, weekday.String()[:3])
		}
	}
	return names
}
