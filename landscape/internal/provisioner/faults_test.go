package provisioner_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAFailedUpgradeTellsWhyAndIsTakenBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.faults("provisioner: {shoots: {c-1: fail}}")
	id := b.begin("rt-1", "2.21.0")
	b.pass(shortest - time.Second)
	require.Equal(t, "InProgress", b.operation(id)["state"])
	b.pass(longest)
	failed := b.operation(id)
	require.Equal(t, "Failed", failed["state"])
	require.Equal(t, map[string]any{
		"errMessage": "the simulated upgrade did not become healthy in time", "reason": "ERR_TIMEOUT", "component": "provisioner",
	}, failed["lastError"])
	require.Equal(t, "2.20.5", b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "kymaConfig", "version"))
	require.Equal(t, failed, b.last("rt-1"))

	b.faults("{}")
	again := b.begin("rt-1", "2.21.0")
	b.pass(longest)
	require.Equal(t, "Succeeded", b.operation(again)["state"])
	require.Equal(t, "Failed", b.operation(id)["state"], "how an operation ended does not change any more")
	require.Equal(t, "2.21.0", b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "kymaConfig", "version"))
}

// What a Shoot was asked to have stays in the records, so that its version says
// nothing about an upgrade that failed.
func TestAFailedUpgradeOfAShootIsNotTakenBack(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.faults("provisioner: {fail: 1}")
	b.ask("ga-1", upgradeShoot, map[string]any{"id": "rt-1", "config": toKubernetes("1.34.7")})
	b.pass(longest)
	require.Equal(t, "Failed", b.last("rt-1")["state"])
	require.Equal(t, "1.34.7", b.status("rt-1").at("runtimeStatus", "runtimeConfiguration", "clusterConfig", "kubernetesVersion"))
}

func TestAStuckUpgradeGoesOnWhenThePlanChanges(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.faults("provisioner: {stuck: 1}")
	id := b.begin("rt-1", "2.21.0")
	b.pass(1000 * longest)
	require.Equal(t, "InProgress", b.operation(id)["state"])
	b.faults("{}")
	require.NotEqual(t, "Succeeded", b.operation(id)["state"], "it takes as long as any other from now on")
	b.pass(longest)
	require.Equal(t, "Succeeded", b.operation(id)["state"])
}

func TestASlowUpgradeTakesTenTimesAsLong(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.faults("provisioner: {slow: 1, times: 1}")
	id := b.begin("rt-1", "2.21.0")
	b.pass(10*shortest - time.Second)
	require.Equal(t, "InProgress", b.operation(id)["state"])
	b.pass(10 * longest)
	require.Equal(t, "Succeeded", b.operation(id)["state"])
	id = b.begin("rt-1", "2.21.1")
	b.pass(longest)
	require.Equal(t, "Succeeded", b.operation(id)["state"], "one upgrade of a runtime was to be hit")
}

// The answer is lost, not the request: who asks again must find out what happened.
func TestALostAnswerIsThatOfARequestThatWasCarriedOut(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.faults("provisioner: {api: [{action: lose, resources: [upgradeRuntime], times: 1}]}")
	_, err := b.try("ga-1", upgradeRuntime, map[string]any{"id": "rt-1", "config": toKyma("2.21.0")})
	require.Error(t, err)
	require.Equal(t, 1, b.accepted())
	last := b.last("rt-1")
	require.Equal(t, "Upgrade", last["operation"])
	require.Equal(t, "Pending", last["state"])
	require.Equal(t, last["id"], b.Mutations()[0].Operation)
	b.begin("rt-2", "2.21.0")
}

func TestOtherFaultsKeepARequestFromBeingCarriedOut(t *testing.T) {
	t.Parallel()
	for rule, check := range map[string]func(*testing.T, answer, error){
		"action: drop": func(t *testing.T, _ answer, err error) {
			t.Helper()
			require.Error(t, err)
		},
		"action: garbage": func(t *testing.T, a answer, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, a.Status)
			require.False(t, json.Valid([]byte(a.Text)))
		},
		"action: status, code: 502": func(t *testing.T, a answer, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, http.StatusBadGateway, a.Status)
			require.Empty(t, a.Header.Get("Retry-After"))
			require.Equal(t, "simulated Bad Gateway\n", a.Text)
		},
		"action: status, code: 503, retryAfter: 2s": func(t *testing.T, a answer, err error) {
			t.Helper()
			require.NoError(t, err)
			require.Equal(t, http.StatusServiceUnavailable, a.Status)
			require.Equal(t, "2", a.Header.Get("Retry-After"))
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			b.faults("provisioner: {api: [{" + rule + ", resources: [upgradeRuntime], times: 1}]}")
			require.Equal(t, "Provision", b.last("rt-1")["operation"], "other fields are not meant")
			a, err := b.try("ga-1", upgradeRuntime, map[string]any{"id": "rt-1", "config": toKyma("2.21.0")})
			check(t, a, err)
			require.Empty(t, b.Mutations())
			b.begin("rt-1", "2.21.0")
		})
	}
}

// The first rule that strikes decides, and each counts for itself.
func TestRulesTakeTurns(t *testing.T) {
	t.Parallel()
	b := start(t)
	plan := "provisioner: {api: [{action: status, code: 500, times: 2}, {action: status, code: 429, times: 1}]}"
	for range 2 {
		b.faults(plan)
		var got []int
		for range 4 {
			got = append(got, b.ask("ga-1", statusQuery, map[string]any{"id": "rt-1"}).Status)
		}
		require.Equal(t, []int{500, 500, 429, 200}, got, "a plan that is set anew counts anew")
	}
}

func TestAShareOfTheRequestsIsHit(t *testing.T) {
	t.Parallel()
	b := start(t)
	hits := func() string {
		b.faults("{seed: 5, provisioner: {api: [{action: status, code: 500, share: 0.3}]}}")
		var row strings.Builder
		for range 200 {
			row.WriteString(map[int]string{200: ".", 500: "x"}[b.ask("ga-1", `{ __typename }`, nil).Status])
		}
		return row.String()
	}
	first := hits()
	require.InDelta(t, 60, strings.Count(first, "x"), 25)
	require.Equal(t, first, hits(), "the seed decides")
}

// A client that gives up does not get an upgrade.
func TestADelayEndsWithItsClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t)
		b.faults("provisioner: {api: [{action: delay, delay: 10s}, {action: delay, delay: 5s, times: 1}]}")
		serve := func(ctx context.Context) (time.Duration, int) {
			began, w := time.Now(), httptest.NewRecorder()
			func() {
				defer func() { _ = recover() }() // It cuts the connection of a client that has gone.
				b.ServeHTTP(w, request(ctx, upgradeRuntime, map[string]any{"id": "rt-1", "config": toKyma("2.21.0")}))
			}()
			return time.Since(began), w.Body.Len()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		took, size := serve(ctx)
		require.Equal(t, 3*time.Second, took)
		require.Zero(t, size)
		require.Empty(t, b.Mutations())

		took, _ = serve(t.Context())
		require.Equal(t, 15*time.Second, took, "delays add up")
		require.Equal(t, 1, b.accepted())
	})
}

func TestRulesHoldFromWhenThePlanIsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(t)
		b.faults("provisioner: {api: [{action: status, code: 500, after: 10s, for: 5s}]}")
		status := func() int {
			w := httptest.NewRecorder()
			b.ServeHTTP(w, request(t.Context(), `{ __typename }`, nil))
			return w.Code
		}
		time.Sleep(9 * time.Second)
		require.Equal(t, http.StatusOK, status())
		time.Sleep(time.Second)
		require.Equal(t, http.StatusInternalServerError, status(), "however late the first request comes")
		time.Sleep(5 * time.Second)
		require.Equal(t, http.StatusOK, status())
	})
}

// request is one that comes without a network.
func request(ctx context.Context, query string, variables map[string]any) *http.Request {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", strings.NewReader(string(body)))
	r.Header.Set("tenant", "ga-1")
	return r
}
