// Package provisioner upgrades runtimes through the Provisioner's GraphQL API: Kyma by upgradeRuntime, and, as the other way to do it, clusters by
// upgradeShoot.
//
// The Provisioner runs one operation on a runtime at a time, refuses a second, and tells which one was the newest. That is enough to start an upgrade
// at most once: the newest operation is remembered before ours is asked for, so that one which appears afterwards and wants the same version is
// ours, also when the answer that would have named it was lost. What it cannot do is refuse a request of a process that was
// frozen between looking and sending and whose successor has started the upgrade, and seen it end, in the meantime.
package provisioner

//go:generate genqlient genqlient.yaml
