// Package audit records every write to a Shoot, seen from two sides: the
// request as the API server judged it, and the change as it was committed. The
// second counts also when the answer to the first was lost, or its sender had
// died before the answer came.
package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Request is one writing request for a Shoot, refused or accepted.
type Request struct {
	// Kind is always "request".
	Kind string `json:"kind"`
	// Time is when the request arrived.
	Time time.Time `json:"time"`
	// ID is the API server's audit ID.
	ID        string `json:"id"`
	User      string `json:"user"`
	UserAgent string `json:"userAgent,omitempty"`
	// Verb is create, update, patch, delete or deletecollection.
	Verb        string `json:"verb"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Subresource string `json:"subresource,omitempty"`
	// DryRun says that the request asked for nothing to be stored.
	DryRun bool `json:"dryRun"`
	// Code is the HTTP status that the API server answered, or 0 if it did not
	// come to an answer.
	Code int32 `json:"code"`
	// Reason is the API server's message if it refused.
	Reason string `json:"reason,omitempty"`
	// Body is what was sent, as JSON.
	Body json.RawMessage `json:"body,omitempty"`
	// Revision is the resourceVersion that the answer gave the Shoot.
	Revision int64 `json:"revision,omitempty"`
	// Version and Generation are those of the Shoot in the answer.
	Version    string `json:"version,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// Accepted reports whether the API server accepted the request and stored its
// result.
func (r Request) Accepted() bool { return r.Code >= 200 && r.Code < 300 && !r.DryRun }

// Commit is one change of a Shoot that was stored, other than of its status alone.
type Commit struct {
	// Kind is always "commit".
	Kind string `json:"kind"`
	// Time is when the recorder saw the change.
	Time      time.Time `json:"time"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	// Change is created, updated or deleted.
	Change string `json:"change"`
	// Revision is the resourceVersion that the Shoot has since.
	Revision      int64  `json:"revision"`
	OldVersion    string `json:"oldVersion,omitempty"`
	NewVersion    string `json:"newVersion,omitempty"`
	OldGeneration int64  `json:"oldGeneration,omitempty"`
	NewGeneration int64  `json:"newGeneration,omitempty"`
	// User is who made the change, or empty if the API server's answer never
	// came about.
	User string `json:"user,omitempty"`
}

// VersionChanged reports whether an existing Shoot got another Kubernetes version.
func (c Commit) VersionChanged() bool {
	return c.Change == Updated && c.OldVersion != c.NewVersion
}

// The kinds of change.
const (
	Created = "created"
	Updated = "updated"
	Deleted = "deleted"
)

// keep is how many records of each kind stay in memory; all go to the file.
const keep = 200_000

// Log holds what was recorded, in order. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	file     io.Writer
	failed   error
	requests []Request
	commits  []Commit
}

// NewLog returns an empty log that also writes every record as a line of JSON
// to file.
func NewLog(file io.Writer) *Log { return &Log{file: file} }

// AddRequest records a request.
func (l *Log) AddRequest(r Request) {
	r.Kind = "request"
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(trim(l.requests), r)
	l.write(r)
}

// AddCommit records a committed change.
func (l *Log) AddCommit(c Commit) {
	c.Kind = "commit"
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(trim(l.commits), c)
	l.write(c)
}

func trim[T any](records []T) []T {
	if len(records) < keep {
		return records
	}
	return append(records[:0:0], records[keep/4:]...)
}

func (l *Log) write(record any) {
	line, err := json.Marshal(record)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil && l.failed == nil {
		l.failed = fmt.Errorf("write audit log: %w", err)
	}
}

// Err returns the first error that kept a record out of the file.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Requests returns the requests that match, in order.
func (l *Log) Requests(filter Filter) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	matching := []Request{}
	for _, r := range l.requests {
		if filter.matchRequest(r) {
			matching = append(matching, r)
		}
	}
	return matching
}

// Commits returns the committed changes that match, in order, each with the user
// of the request that led to it.
func (l *Log) Commits(filter Filter) []Commit {
	l.mu.Lock()
	defer l.mu.Unlock()
	users := map[int64]string{}
	for _, r := range l.requests {
		if r.Revision != 0 && r.Accepted() {
			users[r.Revision] = r.User
		}
	}
	matching := []Commit{}
	for _, c := range l.commits {
		c.User = users[c.Revision]
		if filter.matchCommit(c) {
			matching = append(matching, c)
		}
	}
	return matching
}

// Reset forgets the records of a namespace, or all if it is empty. The file keeps them.
func (l *Log) Reset(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if namespace == "" {
		l.requests, l.commits = nil, nil
		return
	}
	l.requests = remove(l.requests, func(r Request) bool { return r.Namespace == namespace })
	l.commits = remove(l.commits, func(c Commit) bool { return c.Namespace == namespace })
}

func remove[T any](records []T, gone func(T) bool) []T {
	rest := records[:0:0]
	for _, record := range records {
		if !gone(record) {
			rest = append(rest, record)
		}
	}
	return rest
}
