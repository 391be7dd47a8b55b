package faults

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	// Warn ends in state Warning: what was asked for is there, and somebody has
	// to help. Only Kymas know it.
	Warn Outcome = "warn"
	// Slow takes ten times as long and then succeeds.
	Slow Outcome = "slow"
)

// Upgrades is what goes wrong while runtimes are upgraded.
type Upgrades struct {
	// Fail, Stuck, Error, Warn and Slow are the shares of runtimes, from 0 to 1
	// and together at most 1, whose upgrades end that way.
	Fail  float64 `json:"fail,omitempty"`
	Stuck float64 `json:"stuck,omitempty"`
	Error float64 `json:"error,omitempty"`
	Warn  float64 `json:"warn,omitempty"`
	Slow  float64 `json:"slow,omitempty"`
	// Shoots decides for single runtimes by the names of their Shoots, whatever
	// the shares say.
	Shoots map[string]Outcome `json:"shoots,omitempty"`
	// Times is how many upgrades of one runtime are hit; later ones succeed. 0
	// means all.
	Times int `json:"times,omitempty"`
}

// Provisioner is what goes wrong with the Provisioner.
type Provisioner struct {
	Upgrades
	// API is about requests for it. Of a rule's choices only Resources counts,
	// which are the names of fields: upgradeRuntime, runtimeStatus and so on.
	API []Rule `json:"api,omitempty"`
}

// Outcome decides how the next upgrade of a runtime ends, of which hit have been
// hit before.
func (u Upgrades) Outcome(seed uint64, what, shoot string, hit int) Outcome {
	if u.Times > 0 && hit >= u.Times {
		return Succeed
	}
	if outcome, ok := u.Shoots[shoot]; ok {
		return outcome
	}
	draw := Draw(seed, what, shoot)
	for _, share := range u.shares() {
		if draw < share.size {
			return share.outcome
		}
		draw -= share.size
	}
	return Succeed
}

type share struct {
	outcome Outcome
	size    float64
}

func (u Upgrades) shares() []share {
	return []share{{Fail, u.Fail}, {Stuck, u.Stuck}, {Recover, u.Error}, {Warn, u.Warn}, {Slow, u.Slow}}
}

// validate reports everything that is wrong, given the outcomes that the
// backend knows besides Succeed, Fail, Stuck and Slow.
func (u Upgrades) validate(also ...Outcome) error {
	var problems []error
	known := append([]Outcome{Fail, Stuck, Slow}, also...)
	sum := 0.0
	for _, share := range u.shares() {
		sum += share.size
		switch {
		case !isShare(share.size):
			problems = append(problems, fmt.Errorf("%s: want a share from 0 to 1", share.outcome))
		case share.size > 0 && !slices.Contains(known, share.outcome):
			problems = append(problems, fmt.Errorf("%s: does not happen here", share.outcome))
		}
	}
	if sum > 1 {
		problems = append(problems, errors.New("the shares are together more than 1"))
	}
	if u.Times < 0 {
		problems = append(problems, errors.New("times cannot be negative"))
	}
	for _, name := range slices.Sorted(maps.Keys(u.Shoots)) {
		if outcome := u.Shoots[name]; outcome != Succeed && !slices.Contains(known, outcome) {
			problems = append(problems, fmt.Errorf("shoots.%s: unknown outcome %q", name, outcome))
		}
	}
	return errors.Join(problems...)
}

func (p Provisioner) validate() error {
	problems := []error{p.Upgrades.validate()}
	for index, rule := range p.API {
		err := rule.validate()
		if rule.Action == Refuse || rule.Action == CloseWatches || len(rule.Verbs)+len(rule.Names) > 0 || rule.DryRun != nil {
			err = errors.Join(err, errors.New("the Provisioner knows status, delay, garbage, drop and lose, chosen by resources"))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("api[%d]: %w", index, err))
		}
	}
	return errors.Join(problems...)
}
