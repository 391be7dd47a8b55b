// Package policy reads maintenance policies and says which maintenance window a runtime has under one.
//
// A policy is a promise to the owners of runtimes about when their clusters may be changed. A value in it that is not understood therefore
// stops the loading: it is never passed over, and never halves or widens a window.
package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/swell-fleet/swell/internal/window"
)

// Policy decides which window a runtime has: the first rule that matches, else the default, else the Shoot's own. The nil policy leaves every Shoot
// its own window.
type Policy struct {
	rules    []rule
	fallback *entry
	// notOn holds for every window, the Shoots' own among them.
	notOn []string
}

// Runtime is what rules look at.
type Runtime struct {
	// ShootName is used in messages only.
	ShootName       string
	Plan            string
	GlobalAccountID string
	// Region is the region of the provider, PlatformRegion that of the sub-account.
	Region         string
	PlatformRegion string
	// Begin and End are the Shoot's own window as "HHMMSS±HHMM"; empty when it has none.
	Begin string
	End   string
}

// Decision is the window of a runtime, and where it comes from.
type Decision struct {
	// Begin and End are the window as "HHMMSS±HHMM"; empty when the runtime has none.
	Begin string
	End   string
	// Days are the weekdays on which it may begin; empty means every day.
	Days []string
	// NotOn are ranges of dates on which it stays shut.
	NotOn []string
	// Rule names the rule that decided, such as "rules[2] (trials)" or "default"; empty when the Shoot's own window holds.
	Rule string
}

// entry is what a rule or the default gives.
type entry struct {
	days  []string
	begin string
	end   string
	notOn []string
}

type rule struct {
	name     string
	patterns []pattern
	entry    entry
}

type pattern struct {
	field string
	text  string
	re    *regexp.Regexp
}

// document is the form of a policy file.
type document struct {
	Rules   []documentRule  `yaml:"rules"`
	Default *documentWindow `yaml:"default"`
	NotOn   texts           `yaml:"notOn"`
}

type documentRule struct {
	Name           string                `yaml:"name"`
	Match          map[string]stringOnly `yaml:"match"`
	documentWindow `yaml:",inline"`
}

type documentWindow struct {
	Days      []stringOnly `yaml:"days"`
	TimeBegin stringOnly   `yaml:"timeBegin"`
	TimeEnd   stringOnly   `yaml:"timeEnd"`
	NotOn     texts        `yaml:"notOn"`
}

// Parse reads a policy in YAML or JSON. The error joins all problems, each with the entry and the value that it is about.
func Parse(raw []byte) (*Policy, error) {
	var doc document
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the maintenance policy: %w", err)
	}
	if doc.Rules == nil && doc.Default == nil && doc.NotOn == nil {
		// An empty file is one that was cut off, and not the wish to have no policy.
		return nil, errors.New("read the maintenance policy: it is empty")
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("read the maintenance policy: something follows after its end; a policy is one document")
	}
	p := &Policy{}
	var problems []error
	for i, r := range doc.Rules {
		name := fmt.Sprintf("rules[%d]", i)
		read, errs := readRule(name, r)
		problems = append(problems, errs...)
		p.rules = append(p.rules, read)
	}
	if doc.Default != nil {
		e, errs := readEntry("default", *doc.Default)
		problems = append(problems, errs...)
		p.fallback = &e
	}
	notOn, errs := readDates("notOn", doc.NotOn)
	problems = append(problems, errs...)
	p.notOn = notOn
	if len(problems) > 0 {
		return nil, fmt.Errorf("read the maintenance policy: %w", errors.Join(problems...))
	}
	return p, nil
}

// fields are what a rule may match, by key.
var fields = map[string]func(Runtime) string{
	"plan":           func(r Runtime) string { return r.Plan },
	"globalAccount":  func(r Runtime) string { return r.GlobalAccountID },
	"region":         func(r Runtime) string { return r.Region },
	"platformRegion": func(r Runtime) string { return r.PlatformRegion },
}

func readRule(name string, doc documentRule) (rule, []error) {
	r := rule{name: name}
	if doc.Name != "" {
		r.name = fmt.Sprintf("%s (%s)", name, doc.Name)
	}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(doc.Match)) {
		text := string(doc.Match[key])
		at := name + ".match." + key
		if _, ok := fields[key]; !ok {
			problems = append(problems, fmt.Errorf("%s: no rule can match by this key; known are globalAccount, plan, platformRegion, region", at))
			continue
		}
		if text == "" {
			problems = append(problems, fmt.Errorf("%s: the pattern is empty", at))
			continue
		}
		re, err := regexp.Compile(text)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %q is not a pattern: %w", at, text, err))
			continue
		}
		r.patterns = append(r.patterns, pattern{field: key, text: text, re: re})
	}
	if len(doc.Match) == 0 {
		problems = append(problems, fmt.Errorf("%s.match: it is empty; what holds for all other runtimes goes into default", name))
	}
	e, errs := readEntry(name, doc.documentWindow)
	r.entry = e
	return r, append(problems, errs...)
}

func readEntry(name string, doc documentWindow) (entry, []error) {
	e := entry{begin: string(doc.TimeBegin), end: string(doc.TimeEnd)}
	var problems []error
	for i, day := range doc.Days {
		if _, err := window.ParseDays([]string{string(day)}); err != nil {
			problems = append(problems, fmt.Errorf("%s.days[%d]: %w", name, i, err))
		}
		e.days = append(e.days, string(day))
	}
	for _, c := range []struct{ key, value string }{{"timeBegin", e.begin}, {"timeEnd", e.end}} {
		if c.value == "" {
			continue
		}
		if _, err := window.ParseClock(c.value); err != nil {
			problems = append(problems, fmt.Errorf("%s.%s: %w", name, c.key, err))
		}
	}
	if (e.begin == "") != (e.end == "") {
		problems = append(problems, fmt.Errorf("%s: timeBegin and timeEnd have to be given together, or neither", name))
	}
	notOn, errs := readDates(name+".notOn", doc.NotOn)
	e.notOn = notOn
	problems = append(problems, errs...)
	if len(doc.Days) == 0 && doc.TimeBegin == "" && doc.TimeEnd == "" && len(doc.NotOn) == 0 {
		problems = append(problems, fmt.Errorf("%s: it gives no days, no times and no dates", name))
	}
	return e, problems
}

func readDates(at string, list texts) ([]string, []error) {
	var dates []string
	var problems []error
	for i, text := range list {
		if _, err := window.ParseDates(text); err != nil {
			problems = append(problems, fmt.Errorf("%s[%d]: %w", at, i, err))
		}
		dates = append(dates, text)
	}
	return dates, problems
}

// Decide returns the window of a runtime. A rule that gives days only keeps the Shoot's own times, and one that gives times only allows every day.
func (p *Policy) Decide(r Runtime) Decision {
	own := Decision{Begin: r.Begin, End: r.End}
	if p == nil {
		return own
	}
	e, name := p.entryFor(r)
	if e != nil {
		own.Rule, own.Days = name, e.days
		if e.begin != "" {
			own.Begin, own.End = e.begin, e.end
		}
		own.NotOn = append(own.NotOn, e.notOn...)
	}
	own.NotOn = append(own.NotOn, p.notOn...)
	return own
}

func (p *Policy) entryFor(r Runtime) (*entry, string) {
	for i := range p.rules {
		if p.rules[i].matches(r) {
			return &p.rules[i].entry, p.rules[i].name
		}
	}
	if p.fallback != nil {
		return p.fallback, "default"
	}
	return nil, ""
}

// matches joins all patterns by AND. A runtime without a value matches no pattern for it.
func (r *rule) matches(rt Runtime) bool {
	for _, p := range r.patterns {
		value := fields[p.field](rt)
		if value == "" || !p.re.MatchString(value) {
			return false
		}
	}
	return true
}

// String describes a decision in one line.
func (d Decision) String() string {
	if d.Begin == "" {
		return "no window"
	}
	s := d.Begin + " to " + d.End
	if len(d.Days) > 0 {
		s += " on " + strings.Join(d.Days, ", ")
	}
	if len(d.NotOn) > 0 {
		s += ", not on " + strings.Join(d.NotOn, ", ")
	}
	return s
}
