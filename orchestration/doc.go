// Package orchestration upgrades fleets of managed Kyma runtimes: it holds the types of the orchestration API, a client of it, and the
// resolver that finds out which runtimes a request means.
//
// # Starting and following an upgrade
//
// An orchestration is one request to upgrade a set of runtimes; the part of it that concerns one runtime is an operation. [Parameters]
// say which runtimes, to which version, when and how many at once:
//
//	client := orchestration.NewExtendedClient(ctx, "https://swell.example", tokens)
//	started, err := client.UpgradeCluster(orchestration.Parameters{
//		Version: "1.33.4",
//		Targets: orchestration.TargetSpec{
//			Include: []orchestration.RuntimeTarget{{Shoot: "c-canary"}, {Region: "^eu-"}},
//			Exclude: []orchestration.RuntimeTarget{{PlanName: "trial"}},
//		},
//		Strategy: orchestration.StrategySpec{
//			Type:     orchestration.ParallelStrategy,
//			Schedule: orchestration.MaintenanceWindow,
//			Parallel: orchestration.ParallelStrategySpec{Workers: 10},
//		},
//	})
//
// The server has stored the orchestration when the call returns, and carries it out by itself. [Client.GetOrchestration] says how far it
// is, [Client.ListOperations] what happens to each runtime, [ExtendedClient.ListLeftOut] which runtimes were left out and why,
// [ExtendedClient.ListOrchestrationEvents] what happened up to now and who asked for it;
// [Client.CancelOrchestration] lets nothing more start, [ExtendedClient.RetryOrchestration] tries again what failed.
//
// # Targets
//
// A [TargetSpec] has entries to include and entries to exclude. All fields of one entry have to match (AND), one entry of the list is
// enough (OR), and exclude wins. Account, sub-account and region are patterns: unanchored RE2 expressions, so that "eu-" matches
// "eu-central-1" and "neu-1" too, and "^eu-" only the first. Plan, Shoot, runtime ID and instance ID are exact values. Only an entry with
// "target": "all" means every runtime; [TargetSpec.Validate] refuses everything that might be a typing mistake.
//
// # Resolving targets
//
// [GardenerRuntimeResolver] looks the targets up among the Shoots of a Gardener project. It needs a [RuntimeLister], which brings what is
// known of each runtime besides its Shoot: instance, plan and operations. [NewGardenerRuntimeResolver] lists the Shoots each time;
// [NewCachedGardenerRuntimeResolver] takes them from a shared informer, which is what large fleets want.
// [GardenerRuntimeResolver.Resolve] returns the targets, [GardenerRuntimeResolver.Preview] also who was left out and why, and
// [ResolveTargets] does the same for lists that are at hand. In tests, [RuntimeListerMock] stands in for the lister.
//
// # Executing operations
//
// A [Strategy] spreads [RuntimeOperation] values over time. The package strategies next to this one has the parallel strategy.
//
// # Windows
//
// The maintenance window of a [Runtime] straight from the resolver is a time of day: a [time.Time] in the year 0 and in the window's own
// offset. It is not IsZero, and it must not be converted to UTC, where "003000+0100" would fall into the year before. What the server
// returns are points in time, or the zero time for an operation that needs no window.
package orchestration

//go:generate mockery --config .mockery.yml
