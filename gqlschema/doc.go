// Package gqlschema holds the input and output types of the Provisioner's GraphQL API that upgrades need.
package gqlschema
