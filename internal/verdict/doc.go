// Package verdict tells what a Kubernetes API server means by refusing a request: that it judged a change to be wrong, or that it does not let the
// program do such a thing at all.
package verdict
