// Package archtest holds the architecture of Swell as a table and fails the tests when the code leaves it.
//
// Every package of the module belongs to one layer. A package may import the layers below its own and nothing beside
// or above it, unless the table says so. Every module from outside, and a few packages of the standard library, have
// named owners: only those may import it. The rules speak about direct imports; what a package reaches through others is
// the matter of those others.
//
// A rule that nothing uses is a fault too, so that the table stays a description of the code. The table in
// CONTRIBUTING.md is printed from this one and a test compares them.
package archtest
