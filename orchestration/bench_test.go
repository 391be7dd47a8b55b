package orchestration_test

import (
	"fmt"
	"testing"

	gardencorelisters "github.com/gardener/gardener/pkg/client/core/listers/core/v1beta1"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

const (
	benchShoots  = 50_000
	benchTargets = 100
)

// benchFleet makes 50,000 Shoots in 40 regions, of 5,000 global accounts and as many sub-accounts as Shoots, in no order, in the store of an informer.
func benchFleet(b *testing.B) (orchestration.ShootLister, *staticLister) {
	b.Helper()
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	runtimes := make([]runtime.RuntimeDTO, benchShoots)
	for i := range benchShoots {
		n := i * 7919 % benchShoots
		id := fmt.Sprintf("b7d9a1c2-%04x-4e6f-8a1b-%012x", n%0xffff, n)
		shoot := newShoot(fmt.Sprintf("c-%07x", n*2654435761%0xfffffff), id,
			inRegion(fmt.Sprintf("%s-region-%d", []string{"eu", "us", "ap", "sa"}[n%4], n/4%10)),
			ofAccount(fmt.Sprintf("ga-%05d", n%5000), fmt.Sprintf("0d20e315-d0b4-48a2-9512-%012x", n)),
			withWindow(fmt.Sprintf("%02d0000+0000", n%24), fmt.Sprintf("%02d0000+0000", (n+4)%24)))
		require.NoError(b, store.Add(shoot))
		runtimes[benchShoots-1-i] = provisioned(id)
	}
	return gardencorelisters.NewShootLister(store).Shoots(gardenNamespace), listing(runtimes...)
}

// BenchmarkResolveCached50000x100 resolves 100 entries among 50,000 cached Shoots. The heap figure is what one resolution allocates.
func BenchmarkResolveCached50000x100(b *testing.B) {
	shoots, lister := benchFleet(b)
	resolver := orchestration.NewCachedGardenerRuntimeResolver(shoots, lister, nil)

	regions := orchestration.TargetSpec{}
	accounts := orchestration.TargetSpec{}
	excludes := all()
	subAccounts := orchestration.TargetSpec{}
	for i := range benchTargets {
		regions.Include = append(regions.Include, orchestration.RuntimeTarget{
			Region: fmt.Sprintf("^(eu|us|ap|sa)-region-%d$", i%10), PlanName: []string{"aws", "azure"}[i/10%2]})
		accounts.Include = append(accounts.Include, orchestration.RuntimeTarget{GlobalAccount: fmt.Sprintf("^ga-%03d[0-9]+$", i)})
		excludes.Exclude = append(excludes.Exclude, orchestration.RuntimeTarget{GlobalAccount: fmt.Sprintf("ga-%03d5.*", i*5)})
		subAccounts.Include = append(subAccounts.Include, orchestration.RuntimeTarget{SubAccount: fmt.Sprintf("%02x[a-f]?$", i)})
	}
	variants := []struct {
		name    string
		targets orchestration.TargetSpec
	}{
		{"region_patterns", regions},
		{"account_patterns", accounts},
		{"all_with_100_excludes", excludes},
		{"sub_account_patterns_all_distinct", subAccounts},
	}
	for _, variant := range variants {
		b.Run(variant.name, func(b *testing.B) {
			b.ReportAllocs()
			targets := 0
			for b.Loop() {
				runtimes, err := resolver.Resolve(variant.targets)
				require.NoError(b, err)
				targets = len(runtimes)
			}
			require.Positive(b, targets)
			b.ReportMetric(float64(targets), "targets")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/op")
		})
	}
}
