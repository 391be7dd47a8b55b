// Package faults holds the plan of what goes wrong in a fleet of the landscape
// simulator: Shoots whose reconciliation fails or hangs, and an API server that
// is away, slow, or answers badly. Where a plan says a share, the choice follows
// from the seed, so that the same plan on the same fleet hits the same Shoots.
package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// Duration is a time.Duration that is written as text, as in 1m30s.
type Duration time.Duration

// UnmarshalJSON implements json.Unmarshaler.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("want a duration as text, as in \"1m30s\": %w", err)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Plan is what goes wrong in one fleet. The zero value is a fleet without faults.
type Plan struct {
	// Seed decides which Shoots and requests a share hits.
	Seed uint64 `json:"seed,omitempty"`
	// Gardenlet is about Shoots.
	Gardenlet Gardenlet `json:"gardenlet,omitzero"`
	// API is about requests that come through the fleet's door, and through its
	// door to the Kymas.
	API []Rule `json:"api,omitempty"`
	// Provisioner is about the Provisioner.
	Provisioner Provisioner `json:"provisioner,omitzero"`
	// Kyma is about Kymas and the simulated Lifecycle Manager.
	Kyma Upgrades `json:"kyma,omitzero"`
}

// Outcome is how a reconciliation ends.
type Outcome string

const (
	// Succeed ends as it should.
	Succeed Outcome = "succeed"
	// Fail ends in state Failed with errors; Gardener does not try again by itself.
	Fail Outcome = "fail"
	// Stuck stays in state Processing until the plan changes.
	Stuck Outcome = "stuck"
	// Recover goes to state Error once or more, is tried again, and then succeeds.
	Recover Outcome = "error"
)

// Gardenlet is what goes wrong while Shoots are reconciled.
type Gardenlet struct {
	// Fail, Stuck and Error are the shares of Shoots, from 0 to 1 and together
	// at most 1, whose reconciliations end that way.
	Fail  float64 `json:"fail,omitempty"`
	Stuck float64 `json:"stuck,omitempty"`
	Error float64 `json:"error,omitempty"`
	// Shoots decides for single Shoots by name, whatever the shares say.
	Shoots map[string]Outcome `json:"shoots,omitempty"`
	// Times is how many reconciliations of one Shoot are hit; later ones
	// succeed. 0 means all.
	Times int `json:"times,omitempty"`
	// ErrorTimes is how often a Shoot goes to state Error before it recovers.
	// 0 means once.
	ErrorTimes int `json:"errorTimes,omitempty"`
	// Codes are the error codes of failed Shoots. Default: one or two that
	// Gardener uses, chosen by seed.
	Codes []string `json:"codes,omitempty"`
}

// Parse reads a plan from YAML or JSON. Unknown keys are errors.
func Parse(data []byte) (Plan, error) {
	document, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return Plan{}, fmt.Errorf("read fault plan: %w", err)
	}
	var plan Plan
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&plan); err != nil {
		return Plan{}, fmt.Errorf("read fault plan: %w", err)
	}
	return plan, plan.Validate()
}

// Validate reports everything that is wrong with the plan.
func (p Plan) Validate() error {
	var problems []error
	shares := map[string]float64{"gardenlet.fail": p.Gardenlet.Fail, "gardenlet.stuck": p.Gardenlet.Stuck, "gardenlet.error": p.Gardenlet.Error}
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		if !isShare(shares[name]) {
			problems = append(problems, fmt.Errorf("%s: want a share from 0 to 1", name))
		}
	}
	if p.Gardenlet.Fail+p.Gardenlet.Stuck+p.Gardenlet.Error > 1 {
		problems = append(problems, errors.New("gardenlet: fail, stuck and error are together more than 1"))
	}
	if p.Gardenlet.Times < 0 || p.Gardenlet.ErrorTimes < 0 {
		problems = append(problems, errors.New("gardenlet: times and errorTimes cannot be negative"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Gardenlet.Shoots)) {
		switch p.Gardenlet.Shoots[name] {
		case Succeed, Fail, Stuck, Recover:
		default:
			problems = append(problems, fmt.Errorf("gardenlet.shoots.%s: unknown outcome %q", name, p.Gardenlet.Shoots[name]))
		}
	}
	for index, rule := range p.API {
		if err := rule.validate(); err != nil {
			problems = append(problems, fmt.Errorf("api[%d]: %w", index, err))
		}
	}
	if err := p.Provisioner.validate(); err != nil {
		problems = append(problems, fmt.Errorf("provisioner: %w", err))
	}
	if err := p.Kyma.validate(Recover, Warn); err != nil {
		problems = append(problems, fmt.Errorf("kyma: %w", err))
	}
	return errors.Join(problems...)
}

// Outcome decides how the next reconciliation of a Shoot ends, of which hit have
// been hit before.
func (p Plan) Outcome(shoot string, hit int) Outcome {
	g := p.Gardenlet
	if g.Times > 0 && hit >= g.Times {
		return Succeed
	}
	if outcome, ok := g.Shoots[shoot]; ok {
		return outcome
	}
	switch draw := Draw(p.Seed, "outcome", shoot); {
	case draw < g.Fail:
		return Fail
	case draw < g.Fail+g.Stuck:
		return Stuck
	case draw < g.Fail+g.Stuck+g.Error:
		return Recover
	}
	return Succeed
}

// ErrorTimes returns how often a Shoot goes to state Error before it recovers.
func (p Plan) ErrorTimes() int { return max(1, p.Gardenlet.ErrorTimes) }

// Draw returns a number from 0 up to but not including 1 that follows from the
// seed and the words alone.
func Draw(seed uint64, words ...string) float64 {
	hash := fnv.New64a()
	fmt.Fprint(hash, seed)
	for _, word := range words {
		_, _ = hash.Write([]byte{0})
		_, _ = hash.Write([]byte(word)) // A hash never fails to be written.
	}
	// FNV's high bits hardly differ between short words; this spreads them.
	mixed := hash.Sum64()
	mixed ^= mixed >> 33
	mixed *= 0xff51afd7ed558ccd
	mixed ^= mixed >> 33
	mixed *= 0xc4ceb9fe1a85ec53
	mixed ^= mixed >> 33
	return float64(mixed>>11) / (1 << 53)
}

func isShare(value float64) bool { return !math.IsNaN(value) && value >= 0 && value <= 1 }
