package control_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/swell-fleet/swell/landscape/internal/fleetgen"
	"github.com/swell-fleet/swell/landscape/internal/gardenlet"
	"github.com/swell-fleet/swell/landscape/internal/landscape"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkUpgrade is what the upgrade of one Shoot costs the simulator, from
// the patch to the last report of the gardenlet.
func BenchmarkUpgrade(b *testing.B) {
	ctx := context.Background()
	namespace := fmt.Sprintf("garden-b%d", fleetNumber.Add(1))
	fleet, err := shared.CreateFleet(ctx, landscape.FleetOptions{
		Generate: fleetgen.Options{Namespace: namespace, Shoots: b.N},
		Settings: gardenlet.Settings{Steps: 3},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = shared.DeleteFleet(ctx, namespace) })
	client := clientOf(b, filepath.Join(fleet.Folder, landscape.KubeconfigFile))
	b.ResetTimer()
	patch := []byte(`{"spec":{"kubernetes":{"version":"` + fleetgen.UpgradeTarget + `"}}}`)
	for _, member := range fleet.Generated().Members {
		if _, err := client.CoreV1beta1().Shoots(namespace).Patch(ctx, member.Shoot.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for _, member := range fleet.Generated().Members {
		for {
			shoot, err := shared.Shoot(ctx, namespace, member.Shoot.Name)
			if err != nil {
				b.Fatal(err)
			}
			if state(succeeded)(shoot) {
				break
			}
		}
	}
}
