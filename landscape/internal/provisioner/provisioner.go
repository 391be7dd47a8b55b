package provisioner

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// Settings say how upgrades go.
type Settings struct {
	// Lasting is how long an upgrade takes on average on the clock; single ones
	// take from half to one and a half of it.
	Lasting time.Duration
	// Plan says what goes wrong.
	Plan faults.Plan
}

// Provisioner keeps the runtimes of one fleet. It is safe for concurrent use.
type Provisioner struct {
	clock    func() time.Time
	settings func() Settings

	mu         sync.Mutex
	runtimes   map[string]*record
	operations map[string]*operation
	mutations  []Mutation
	numbers    int
	rules      *faults.Tally
}

// New returns a Provisioner whose operations go by the clock. Settings are asked
// for whenever they matter.
func New(members []Member, clock func() time.Time, settings func() Settings) *Provisioner {
	p := &Provisioner{clock: clock, settings: settings, rules: rulesOf(faults.Plan{})}
	p.Reset(members)
	return p
}

// Reset makes everything as it was in the beginning. The rules for requests stay.
func (p *Provisioner) Reset(members []Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runtimes, p.operations, p.mutations = map[string]*record{}, map[string]*operation{}, nil
	for _, m := range members {
		p.add(m)
	}
}

// Grow adds the members that are not known yet.
func (p *Provisioner) Grow(members []Member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range members {
		if p.runtimes[m.RuntimeID] == nil {
			p.add(m)
		}
	}
}

func (p *Provisioner) add(m Member) {
	r := newRecord(m, p.newID())
	p.runtimes[m.RuntimeID], p.operations[r.last.id] = r, r.last
}

// Remove forgets a runtime and its operations.
func (p *Provisioner) Remove(runtimeID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runtimes[runtimeID] == nil {
		return false
	}
	delete(p.runtimes, runtimeID)
	for id, o := range p.operations {
		if o.runtime == runtimeID {
			delete(p.operations, id)
		}
	}
	return true
}

// Mutations returns the requests to change runtimes so far, refused ones
// included.
func (p *Provisioner) Mutations() []Mutation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Mutation{}, p.mutations...)
}

// ResetMutations forgets them.
func (p *Provisioner) ResetMutations() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mutations = nil
}

// Runtime is what the Provisioner knows about a runtime, in short.
type Runtime struct {
	RuntimeID         string `json:"runtimeID"`
	Shoot             string `json:"shoot"`
	KymaVersion       string `json:"kymaVersion"`
	KubernetesVersion string `json:"kubernetesVersion"`
	Operation         string `json:"operation"`
	State             string `json:"state"`
}

// Runtimes returns all runtimes by the names of their Shoots.
func (p *Provisioner) Runtimes() []Runtime {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock()
	list := make([]Runtime, 0, len(p.runtimes))
	for _, r := range p.runtimes {
		p.settle(r, now)
		list = append(list, Runtime{
			RuntimeID: r.RuntimeID, Shoot: r.Shoot, KymaVersion: fmt.Sprint(r.kyma["version"]), KubernetesVersion: fmt.Sprint(r.cluster["kubernetesVersion"]),
			Operation: r.last.kind, State: r.last.state(now),
		})
	}
	slices.SortFunc(list, func(a, b Runtime) int { return strings.Compare(a.Shoot, b.Shoot) })
	return list
}

// newID invents an ID that is the same in every run.
func (p *Provisioner) newID() string {
	p.numbers++
	sum := sha256.Sum256([]byte("operation " + strconv.Itoa(p.numbers)))
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// settle does what is due when an operation has ended: the configuration of a
// failed upgrade of Kyma is taken back. What was stuck goes on when the plan
// does not want it stuck any more.
func (p *Provisioner) settle(r *record, now time.Time) {
	o := r.last
	if o.outcome == faults.Stuck {
		plan := p.settings().Plan
		if plan.Provisioner.Outcome(plan.Seed, o.kind, r.Shoot, r.hits-1) != faults.Stuck {
			o.outcome, o.began = faults.Succeed, now
		}
	}
	if o.ended {
		return
	}
	switch o.state(now) {
	case "Failed":
		if o.before != nil {
			r.kyma = o.before
		}
		o.ended = true
	case "Succeeded":
		o.ended = true
	}
}

// failure is an error as the Provisioner tells it.
type failure struct {
	code    int
	reason  string
	message string
}

// Error implements error.
func (f failure) Error() string { return f.message }

func badRequest(format string, args ...any) error {
	return failure{code: 400, reason: "err_bad_request", message: fmt.Sprintf(format, args...)}
}

func unknown(what, id string) error {
	return failure{code: 2, reason: "err_db_not_found", message: fmt.Sprintf("cannot find %s %s", what, id)}
}

// status answers runtimeStatus.
func (p *Provisioner) status(tenant, id string) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, err := p.runtime(tenant, id)
	if err != nil {
		return nil, err
	}
	now := p.clock()
	return map[string]any{
		"lastOperationStatus":  r.last.document(now),
		"runtimeConfiguration": map[string]any{"clusterConfig": r.cluster, "kymaConfig": r.kyma},
		"hibernationStatus":    map[string]any{"hibernated": false, "hibernationPossible": true},
	}, nil
}

// operationStatus answers runtimeOperationStatus.
func (p *Provisioner) operationStatus(tenant, id string) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.operations[id]
	if o == nil {
		return nil, unknown("operation", id)
	}
	if _, err := p.runtime(tenant, o.runtime); err != nil {
		return nil, err
	}
	return o.document(p.clock()), nil
}

// runtime finds a runtime of a tenant and brings it up to date.
func (p *Provisioner) runtime(tenant, id string) (*record, error) {
	r := p.runtimes[id]
	if r == nil {
		return nil, unknown("runtime", id)
	}
	if r.Tenant != tenant {
		return nil, badRequest("provided tenant does not match the tenant of the runtime")
	}
	p.settle(r, p.clock())
	return r, nil
}

// upgrade begins an operation on a runtime, unless one is under way.
func (p *Provisioner) upgrade(field, kind, tenant, id string, config map[string]any, change func(r *record)) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, badRequest("config: %v", err)
	}
	now := p.clock()
	mutation := Mutation{Time: now.UTC(), Field: field, RuntimeID: id, Tenant: tenant, Config: raw}
	o, err := p.begin(kind, tenant, id, now, change)
	if err != nil {
		mutation.Reason = err.Error()
		p.mutations = append(p.mutations, mutation)
		return nil, err
	}
	mutation.Accepted, mutation.Operation = true, o.id
	p.mutations = append(p.mutations, mutation)
	return o.document(now), nil
}

func (p *Provisioner) begin(kind, tenant, id string, now time.Time, change func(r *record)) (*operation, error) {
	r, err := p.runtime(tenant, id)
	if err != nil {
		return nil, err
	}
	if state := r.last.state(now); state == "Pending" || state == "InProgress" {
		return nil, badRequest("cannot start new operation for %s Runtime while previous one is in progress", id)
	}
	settings := p.settings()
	o := &operation{id: p.newID(), kind: kind, runtime: id, began: now, before: r.kyma}
	spread := 0.5 + faults.Draw(settings.Plan.Seed, "provisioner", id, o.id)
	o.lasting = time.Duration(float64(settings.Lasting) * spread)
	if o.outcome = settings.Plan.Provisioner.Outcome(settings.Plan.Seed, kind, r.Shoot, r.hits); o.outcome == faults.Slow {
		o.lasting *= 10
	}
	if o.outcome != faults.Succeed {
		r.hits++
	}
	change(r)
	r.last, p.operations[o.id] = o, o
	return o, nil
}
