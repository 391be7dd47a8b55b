package gardenlet

import (
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/utils/gardener"
)

// confined reports whether the Shoot rolls out changes in its maintenance window only.
func confined(shoot *gardencorev1beta1.Shoot) bool {
	maintenance := shoot.Spec.Maintenance
	return maintenance != nil && maintenance.ConfineSpecUpdateRollout != nil && *maintenance.ConfineSpecUpdateRollout
}

// within reports whether the Shoot's maintenance window is open.
func within(shoot *gardencorev1beta1.Shoot, now time.Time) bool {
	return gardener.EffectiveShootMaintenanceTimeWindow(shoot).Contains(now)
}

// windowOf reports whether a confined Shoot has to be reconciled now, which is
// once in each window, or else in how much simulated time to ask again.
func windowOf(shoot *gardencorev1beta1.Shoot, now time.Time) (open bool, wait time.Duration) {
	window := gardener.EffectiveShootMaintenanceTimeWindow(shoot)
	last := shoot.Status.LastOperation.LastUpdateTime.Time
	doneInThis := window.Contains(last) && now.Sub(last) <= gardencorev1beta1.MaintenanceTimeWindowDurationMaximum
	if window.Contains(now) && !doneInThis {
		return true, 0
	}
	begin := window.AdjustedBegin(now)
	for !begin.After(now) {
		begin = begin.AddDate(0, 0, 1)
	}
	return false, begin.Sub(now)
}
