// Package gqlschema holds the input and output types of the Provisioner's GraphQL API that upgrades need.
//
// The Provisioner creates and changes Kyma runtimes on Gardener. The file schema.graphql describes the part of its API that Swell
// speaks: the mutations upgradeRuntime and upgradeShoot, the queries runtimeStatus and runtimeOperationStatus. The Go types here are
// generated from it and are the ones that [github.com/swell-fleet/swell/runtime] and
// [github.com/swell-fleet/swell/orchestration] show as Kyma and cluster configuration.
//
// Required scalars are plain values, optional ones are pointers that JSON leaves out when they are nil, and lists of objects are
// slices of pointers. Enum types are strings: a value that a newer server sends and this version does not know is kept as it is;
// IsValid tells them apart.
package gqlschema

//go:generate go run -modfile=../tools/go.mod generate.go
