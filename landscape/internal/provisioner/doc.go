// Package provisioner simulates the Provisioner of a control plane: a GraphQL
// API that upgrades runtimes, one operation of a runtime at a time. Requests are
// checked against the real API's schema. There is nothing behind it; upgrades
// take time and do nothing.
package provisioner

//go:generate cp ../../../gqlschema/schema.graphql schema.graphql
