package fleetgen

import (
	"fmt"
	"math/rand/v2"
	"strings"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/apis/utils/timewindow"
)

// offsets are the fixed UTC offsets that windows are written in: whole hours
// east and west, and the half and three-quarter hours of India, Newfoundland,
// Nepal and South Australia.
var offsets = []string{
	"+0000", "+0000", "+0100", "+0100", "+0200", "-0500", "-0600", "-0800", "-0300", "+0300", "+0530", "+0545",
	"-0330", "+0800", "+0900", "+0930", "+1100", "-1000",
}

// drawWindow draws a maintenance window of one to four hours, about a third of
// them over midnight.
func drawWindow(draw *rand.Rand) *gardencorev1beta1.MaintenanceTimeWindow {
	const halfHours = 48
	offset := offsets[draw.IntN(len(offsets))]
	begin := draw.IntN(halfHours)
	if draw.IntN(3) == 0 {
		begin = 42 + draw.IntN(6) // 21:00 to 23:30: most of these end after midnight.
	}
	end := (begin + 2 + draw.IntN(7)) % halfHours
	return &gardencorev1beta1.MaintenanceTimeWindow{Begin: clock(begin) + offset, End: clock(end) + offset}
}

// clock writes a number of half hours since midnight as HHMMSS.
func clock(halfHours int) string {
	return fmt.Sprintf("%02d%02d00", halfHours/2, halfHours%2*30)
}

func parseWindow(text string) (*gardencorev1beta1.MaintenanceTimeWindow, error) {
	begin, end, ok := strings.Cut(text, "/")
	if !ok {
		return nil, fmt.Errorf("window %q: want begin/end, as in 220000+0100/020000+0100", text)
	}
	if _, err := timewindow.ParseMaintenanceTimeWindow(begin, end); err != nil {
		return nil, fmt.Errorf("window %q: %w", text, err)
	}
	return &gardencorev1beta1.MaintenanceTimeWindow{Begin: begin, End: end}, nil
}
