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

// ruleState counts what the rules of the plan in force have hit.
type ruleState struct {
	since   time.Time
	matched []int64
	hit     []int64
}

// NewPlan begins to count anew, for a plan that has just been set.
func (p *Provisioner) NewPlan() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = ruleState{}
}

// strikes says whether a rule hits a request for some fields.
func (p *Provisioner) strikes(plan faults.Plan, index int, names []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &p.rules
	if len(s.matched) != len(plan.Provisioner.API) {
		*s = ruleState{since: time.Now(), matched: make([]int64, len(plan.Provisioner.API)), hit: make([]int64, len(plan.Provisioner.API))}
	}
	rule := plan.Provisioner.API[index]
	about := len(rule.Resources) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(rule.Resources, name) })
	if !about || !rule.InForce(time.Since(s.since)) || (rule.Times > 0 && s.hit[index] >= rule.Times) {
		return false
	}
	s.matched[index]++
	turn := strconv.FormatInt(s.matched[index], 10)
	if rule.Share != 0 && faults.Draw(plan.Seed, "provisioner request", strconv.Itoa(index), turn) >= rule.Share {
		return false
	}
	s.hit[index]++
	return true
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
	plan := p.settings().Plan
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.field.Name
	}
	for index, rule := range plan.Provisioner.API {
		if rule.Action == faults.Delay && p.strikes(plan, index, names) {
			timer := time.NewTimer(time.Duration(rule.Delay))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
				panic(http.ErrAbortHandler)
			}
		}
	}
	for index, rule := range plan.Provisioner.API {
		if rule.Action == faults.Delay || !p.strikes(plan, index, names) {
			continue
		}
		lose := rule.Action == faults.Lose
		switch rule.Action {
		case faults.Status:
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
