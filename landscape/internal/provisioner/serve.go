package provisioner

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// maxBody bounds what is read of a request.
const maxBody = 1 << 20

// SetPlan puts the rules of a plan for requests in force from now on, instead of
// those before. How upgrades end is told by the settings.
func (p *Provisioner) SetPlan(plan faults.Plan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rulesOf(plan)
}

func rulesOf(plan faults.Plan) *faults.Tally {
	return faults.NewTally(plan.Seed, "provisioner request", plan.Provisioner.API)
}

func (p *Provisioner) inForce() *faults.Tally {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules
}

// about reports whether a rule speaks about a request for some fields.
func about(rule faults.Rule, calls []call) bool {
	return len(rule.Resources) == 0 || slices.ContainsFunc(calls, func(c call) bool { return slices.Contains(rule.Resources, c.field.Name) })
}

// ServeHTTP answers GraphQL requests, or does to them what the plan says. Delays
// come first and add up; of the other rules the first that strikes decides.
func (p *Provisioner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "POST a GraphQL request", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var q query
	if err != nil || json.Unmarshal(body, &q) != nil {
		write(w, http.StatusBadRequest, map[string]any{"errors": gqlerror.List{gqlerror.Errorf("json request body could not be decoded")}})
		return
	}
	calls, err := q.plan()
	if err != nil {
		write(w, http.StatusUnprocessableEntity, map[string]any{"data": nil, "errors": asList(err)})
		return
	}
	tenant := r.Header.Get("tenant")
	if lost := p.disturb(w, r, calls); lost != nil {
		if *lost {
			p.answer(calls, tenant)
			panic(http.ErrAbortHandler)
		}
		return
	}
	write(w, http.StatusOK, p.answer(calls, tenant))
}

// disturb does what the plan says. It returns nil when the request is to be
// answered as usual, and otherwise whether it has to be carried out first and
// its answer lost.
func (p *Provisioner) disturb(w http.ResponseWriter, r *http.Request, calls []call) *bool {
	rules := p.inForce()
	for index, rule := range rules.Rules() {
		if rule.Action == faults.Delay && about(rule, calls) && rules.Strikes(index) {
			timer := time.NewTimer(time.Duration(rule.Delay))
			select {
			case <-timer.C:
			case <-r.Context().Done():
				timer.Stop()
				panic(http.ErrAbortHandler)
			}
		}
	}
	for index, rule := range rules.Rules() {
		if !rule.Action.Strikes() || !about(rule, calls) || !rules.Strikes(index) {
			continue
		}
		lose := rule.Action == faults.Lose
		switch rule.Action {
		case faults.Status:
			if seconds := int(time.Duration(rule.RetryAfter) / time.Second); seconds > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(seconds))
			}
			http.Error(w, "simulated "+http.StatusText(rule.Code), rule.Code)
		case faults.Garbage:
			_, _ = io.WriteString(w, `{"data":{"runtimeStatus":{"lastOperationStatus":<html>`) // The client may be gone.
		case faults.Drop:
			panic(http.ErrAbortHandler)
		case faults.Lose, faults.Delay, faults.Refuse, faults.CloseWatches:
			// The first is for the caller; the others do not come here.
		}
		return &lose
	}
	return nil
}

func asList(err error) gqlerror.List {
	if list, ok := err.(gqlerror.List); ok { //nolint:errorlint // The parser returns it unwrapped.
		return list
	}
	return gqlerror.List{gqlerror.Wrap(err)}
}

func write(w http.ResponseWriter, code int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(document) // The client may be gone.
}
