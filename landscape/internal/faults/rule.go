package faults

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Action is what a rule does to a request or to the door.
type Action string

const (
	// Refuse closes the door: connections are cut and new ones refused.
	Refuse Action = "refuse"
	// Status answers with an error of the given code and does nothing else.
	Status Action = "status"
	// Delay holds the request back before it is handled.
	Delay Action = "delay"
	// Garbage answers 200 with something that is no answer.
	Garbage Action = "garbage"
	// Drop cuts the connection before the request is handled.
	Drop Action = "drop"
	// Lose lets the API server handle the request and then cuts the connection
	// instead of answering: what was asked for has happened.
	Lose Action = "lose"
	// CloseWatches ends all open watches.
	CloseWatches Action = "closeWatches"
)

// Strikes reports whether the action takes the place of the API server's answer.
func (a Action) Strikes() bool {
	return a == Status || a == Garbage || a == Drop || a == Lose
}

// Rule is one thing that goes wrong with the API.
type Rule struct {
	// Action says what. Required.
	Action Action `json:"action"`
	// Code is the HTTP status of Action status: 400 to 599.
	Code int `json:"code,omitempty"`
	// RetryAfter is sent with codes 429 and 503, in whole seconds. 0: not sent.
	RetryAfter Duration `json:"retryAfter,omitempty"`
	// Delay is how long Action delay holds a request back.
	Delay Duration `json:"delay,omitempty"`
	// Every repeats Action closeWatches. 0: once.
	Every Duration `json:"every,omitempty"`

	// After and For say when the rule is in force, counted from when the plan
	// was set. A For of 0 means until the plan changes.
	After Duration `json:"after,omitempty"`
	For   Duration `json:"for,omitempty"`

	// Verbs are get, list, watch, create, update, patch, delete and
	// deletecollection. None means all.
	Verbs []string `json:"verbs,omitempty"`
	// Resources are plural names, with subresource as in shoots/status. None
	// means all.
	Resources []string `json:"resources,omitempty"`
	// Names are object names. None means all.
	Names []string `json:"names,omitempty"`
	// DryRun chooses requests that are, or are not, dry runs. None: both.
	DryRun *bool `json:"dryRun,omitempty"`
	// Share is the part of the matching requests that is hit. 0 means all.
	Share float64 `json:"share,omitempty"`
	// Times is how many requests are hit at most. 0 means any number.
	Times int64 `json:"times,omitempty"`
}

func (r Rule) validate() error {
	var problems []error
	switch r.Action {
	case Refuse, Garbage, Drop, Lose, CloseWatches:
	case Status:
		if r.Code < 400 || r.Code > 599 {
			problems = append(problems, fmt.Errorf("code %d: want 400 to 599", r.Code))
		}
	case Delay:
		if r.Delay <= 0 {
			problems = append(problems, errors.New("delay: want more than 0"))
		}
	default:
		problems = append(problems, fmt.Errorf("unknown action %q", r.Action))
	}
	if r.Action != Status && r.Code != 0 {
		problems = append(problems, errors.New("code: only for action status"))
	}
	if !isShare(r.Share) {
		problems = append(problems, errors.New("share: want 0 to 1"))
	}
	if r.After < 0 || r.For < 0 || r.Delay < 0 || r.Every < 0 || r.RetryAfter < 0 || r.Times < 0 {
		problems = append(problems, errors.New("no duration or number may be negative"))
	}
	known := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
	for _, verb := range r.Verbs {
		if !slices.Contains(known, verb) {
			problems = append(problems, fmt.Errorf("unknown verb %q", verb))
		}
	}
	return errors.Join(problems...)
}

// InForce reports whether the rule holds at the given time after the plan was set.
func (r Rule) InForce(since time.Duration) bool {
	return since >= time.Duration(r.After) && (r.For == 0 || since < time.Duration(r.After+r.For))
}

// Request is what a rule looks at.
type Request struct {
	Verb     string
	Resource string
	Name     string
	DryRun   bool
	Watch    bool
}

// Describe reads verb, resource and name off a request to a Kubernetes API.
func Describe(request *http.Request) Request {
	query := request.URL.Query()
	described := Request{DryRun: query.Has("dryRun")}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	// apis/GROUP/VERSION/[namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE]]
	if len(parts) < 4 || parts[0] != "apis" {
		described.Verb = "get"
		return described
	}
	parts = parts[3:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	described.Resource = parts[0]
	if len(parts) > 1 {
		described.Name = parts[1]
	}
	if len(parts) > 2 {
		described.Resource += "/" + parts[2]
	}
	named := described.Name != ""
	switch request.Method {
	case http.MethodPost:
		described.Verb = "create"
	case http.MethodPut:
		described.Verb = "update"
	case http.MethodPatch:
		described.Verb = "patch"
	case http.MethodDelete:
		described.Verb = "delete"
		if !named {
			described.Verb = "deletecollection"
		}
	default:
		described.Verb = "get"
		if watch := query.Get("watch"); watch == "true" || watch == "1" {
			described.Verb, described.Watch = "watch", true
		} else if !named {
			described.Verb = "list"
		}
	}
	return described
}

// Matches reports whether the rule speaks about the request, time and share aside.
func (r Rule) Matches(request Request) bool {
	return contains(r.Verbs, request.Verb) && contains(r.Resources, request.Resource) && contains(r.Names, request.Name) &&
		(r.DryRun == nil || *r.DryRun == request.DryRun)
}

func contains(list []string, value string) bool {
	return len(list) == 0 || slices.Contains(list, value)
}
