package landscape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// connections go to the simulator. They are not kept, so that none is left when a test program ends.
var connections = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}

// call makes a request to the control interface. The body is YAML text or anything that JSON can say; a nil answer is not read.
func (p *process) call(ctx context.Context, method, path string, body, answer any) error {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, p.Control+path, reader)
	if err != nil {
		return err
	}
	response, err := connections.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func (f *Fleet) call(t testing.TB, method, path string, body, answer any) {
	t.Helper()
	require.NoError(t, f.process.call(t.Context(), method, "/fleets/"+f.Namespace+path, body, answer))
}

// SetFaults puts a fault plan, as YAML, in force instead of the one before.
func (f *Fleet) SetFaults(t testing.TB, plan string) {
	t.Helper()
	f.call(t, http.MethodPost, "/faults", plan, nil)
}

// ClearFaults ends all faults. What is stuck goes on.
func (f *Fleet) ClearFaults(t testing.TB) {
	t.Helper()
	f.call(t, http.MethodDelete, "/faults", nil, nil)
}

// Hits returns how many requests each rule of the fault plan has hit.
func (f *Fleet) Hits(t testing.TB) []int64 {
	t.Helper()
	var status struct {
		Hits []int64 `json:"hits"`
	}
	f.call(t, http.MethodGet, "/faults", nil, &status)
	return status.Hits
}

// SetClock sets the fleet's clock, by which Shoots are reconciled and their windows open. It goes on from there.
func (f *Fleet) SetClock(t testing.TB, now time.Time) {
	t.Helper()
	f.call(t, http.MethodPost, "/clock", map[string]any{"offset": time.Until(now).String()}, nil)
}

// SetReconcileTime sets how long reconciling a Shoot takes from now on.
func (f *Fleet) SetReconcileTime(t testing.TB, d time.Duration) {
	t.Helper()
	f.call(t, http.MethodPost, "/clock", map[string]any{"reconcileTime": d.String()}, nil)
}

// Request is a writing request for a Shoot as the API server judged it.
type Request struct {
	Time   time.Time `json:"time"`
	User   string    `json:"user"`
	Verb   string    `json:"verb"`
	Name   string    `json:"name"`
	DryRun bool      `json:"dryRun"`
	Code   int       `json:"code"`
	Reason string    `json:"reason"`
	// Body is what was sent, as JSON.
	Body json.RawMessage `json:"body"`
}

// Commit is a change of a Shoot that was stored.
type Commit struct {
	Time       time.Time `json:"time"`
	Name       string    `json:"name"`
	Change     string    `json:"change"`
	OldVersion string    `json:"oldVersion"`
	NewVersion string    `json:"newVersion"`
	User       string    `json:"user"`
}

// Audit is what is known of the writes to Shoots of a fleet.
type Audit struct {
	// Requests are the writing requests, refused ones and dry runs too.
	Requests []Request `json:"requests"`
	// Commits are the changes that were stored, also those whose answer was lost.
	Commits []Commit `json:"commits"`
}

// Of returns the requests for one Shoot.
func (a Audit) Of(name string) []Request {
	var requests []Request
	for _, r := range a.Requests {
		if r.Name == name {
			requests = append(requests, r)
		}
	}
	return requests
}

// Audit returns what came through the fleet's door and what was stored.
func (f *Fleet) Audit(t testing.TB) Audit {
	t.Helper()
	var audit Audit
	query := url.Values{"user": {"landscape:fleet:" + f.Namespace}}
	f.call(t, http.MethodGet, "/audit?"+query.Encode(), nil, &audit)
	return audit
}

// ForgetAudit forgets what was recorded so far.
func (f *Fleet) ForgetAudit(t testing.TB) {
	t.Helper()
	f.call(t, http.MethodPost, "/audit/reset", nil, nil)
}

// Upgrades returns for each Shoot how many accepted writes changed its Kubernetes version, also those whose answer was lost.
func (f *Fleet) Upgrades(t testing.TB) map[string]int {
	t.Helper()
	var upgrades struct {
		PerShoot map[string]int `json:"perShoot"`
	}
	f.call(t, http.MethodGet, "/audit/upgrades", nil, &upgrades)
	return upgrades.PerShoot
}

// ProvisionerUpgrades returns how many upgrades the fleet's Provisioner has taken on for each runtime ID, those whose answer was lost among them.
func (f *Fleet) ProvisionerUpgrades(t testing.TB) map[string]int {
	t.Helper()
	var answer struct {
		PerRuntime map[string]int `json:"perRuntime"`
	}
	f.call(t, http.MethodGet, "/provisioner/audit", nil, &answer)
	return answer.PerRuntime
}

// Channels returns the active channel of each Kyma of the fleet by the name of its Shoot.
func (f *Fleet) Channels(t testing.TB) map[string]string {
	t.Helper()
	var answer []struct {
		Shoot         string `json:"shoot"`
		ActiveChannel string `json:"activeChannel"`
	}
	f.call(t, http.MethodGet, "/kymas", nil, &answer)
	channels := make(map[string]string, len(answer))
	for _, k := range answer {
		channels[k.Shoot] = k.ActiveChannel
	}
	return channels
}

// Shoot is a Shoot in short.
type Shoot struct {
	Name               string `json:"name"`
	Version            string `json:"version"`
	Generation         int64  `json:"generation"`
	ObservedGeneration int64  `json:"observedGeneration"`
	Operation          string `json:"operation"`
	State              string `json:"state"`
	Progress           int    `json:"progress"`
}

// Shoots returns the Shoots of the fleet by name.
func (f *Fleet) Shoots(t testing.TB) []Shoot {
	t.Helper()
	var shoots []Shoot
	f.call(t, http.MethodGet, "/shoots", nil, &shoots)
	return shoots
}

// ForceStatus merges fields into the status of a Shoot and keeps the simulated gardenlet away from it until ReleaseStatus.
func (f *Fleet) ForceStatus(t testing.TB, name string, status map[string]any) {
	t.Helper()
	f.call(t, http.MethodPut, "/shoots/"+name+"/status", status, nil)
}

// ReleaseStatus lets the simulated gardenlet work on a Shoot again.
func (f *Fleet) ReleaseStatus(t testing.TB, name string) {
	t.Helper()
	f.call(t, http.MethodDelete, "/shoots/"+name+"/status", nil, nil)
}

// Annotate sets an annotation of a Shoot.
func (f *Fleet) Annotate(t testing.TB, name, annotation, value string) {
	t.Helper()
	f.call(t, http.MethodPut, "/shoots/"+name+"/metadata", map[string]any{"annotations": map[string]string{annotation: value}}, nil)
}

// Remove removes a Shoot at once, as if it had been deleted long ago.
func (f *Fleet) Remove(t testing.TB, name string) {
	t.Helper()
	f.call(t, http.MethodDelete, "/shoots/"+name+"?now=true", nil, nil)
}
