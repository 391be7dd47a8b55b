package console

import (
	"fmt"

	"github.com/swell-fleet/swell/internal/quantity"
)

// defaultPageSize is the size of a page that is asked for without one.
const defaultPageSize = 100

// CheckPage checks the flags --page and --page-size. A page without a size has the usual one, and a size without a page means the first.
func CheckPage(page, size *int) error {
	switch {
	case *page < 0:
		return Usagef("--page %d: pages are counted from 1", *page)
	case *size < 0:
		return Usagef("--page-size %d: must not be negative", *size)
	case *page > 0 && *size == 0:
		*size = defaultPageSize
	case *size > 0 && *page == 0:
		*page = 1
	}
	return nil
}

// Shown says how many rows of a list are shown.
func Shown(shown, total int, noun string) string {
	noun = quantity.Noun(total, noun)
	if shown == total {
		return fmt.Sprintf("%d %s", total, noun)
	}
	return fmt.Sprintf("%d of %d %s", shown, total, noun)
}
