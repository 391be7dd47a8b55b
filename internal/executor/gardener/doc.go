// Package gardener upgrades the Kubernetes version and the machine image of clusters by changing their Shoots.
//
// Gardener is declarative: an upgrade is one conditional patch of the Shoot's specification, and what follows is watching its status. So
// looking first is cheap and always right: a Shoot that already has the wanted version in its specification is followed and never
// written again, and a write that meets somebody else's is refused by Gardener and leads back to looking.
//
// Success is judged on the generation that the write made: what the status says about an older generation says nothing about the upgrade.
package gardener
