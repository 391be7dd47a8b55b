// Package fleet is the domain of Swell: orchestrations, operations, runtimes and events as records, the state machine that moves them,
// admission, and the ports through which the outside is reached.
//
// It knows no database, no HTTP, no job queue and no Kubernetes. Everything that decides is a pure function of records and a point in time,
// so the rules can be tested without any of these; package engine runs the rules over the ports.
//
// The words are those of the field: an orchestration is one request to upgrade a set of runtimes, an operation is the part of it that
// concerns one runtime, and a worker is a place for one runtime being changed.
package fleet
