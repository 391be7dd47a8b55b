// Package feed knows whether a cache of Kubernetes objects is filled and follows its source, so that a picture that grows old is noticed.
package feed
