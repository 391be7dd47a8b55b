// Package kyma serves Kymas, the resources of a control plane that say which
// modules a runtime has, and simulates the Lifecycle Manager that looks after
// them. The API is Kubernetes' own server for custom resources, with storage,
// validation, watches, conflicts and dryRun=All; the definition of Kymas holds what
// upgrades need of the real one. There is nothing behind it; installing modules
// takes time and does nothing.
package kyma
