package door

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/swell-fleet/swell/landscape/internal/faults"
	"github.com/swell-fleet/swell/landscape/internal/port"
)

const shoots = "/apis/core.gardener.cloud/v1beta1/namespaces/garden-x/shoots"

// opened is a door before a handler that counts, with a client that trusts it.
type opened struct {
	*Door
	client  *http.Client
	handled atomic.Int64
	// ended receives the path of each watch that has ended.
	ended chan string
}

func open(t *testing.T) *opened {
	t.Helper()
	// Only its certificate is wanted, and a client that trusts it.
	borrowed := httptest.NewUnstartedServer(http.NotFoundHandler())
	borrowed.StartTLS()
	config, pool := borrowed.TLS.Clone(), borrowed.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	borrowed.Close()
	config.NextProtos = []string{"h2", "http/1.1"}

	o := &opened{ended: make(chan string, 10)}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.handled.Add(1)
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		if r.URL.Query().Has("watch") {
			<-r.Context().Done()
			o.ended <- r.URL.Path
			return
		}
		_, _ = io.WriteString(w, "answer")
	})
	door, err := Open("127.0.0.1:0", handler, config)
	require.NoError(t, err)
	o.Door = door
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	o.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		require.NoError(t, door.Close())
		transport.CloseIdleConnections()
	})
	return o
}

func (o *opened) plan(t *testing.T, rules ...faults.Rule) {
	t.Helper()
	plan := faults.Plan{Seed: 1, API: rules}
	require.NoError(t, plan.Validate())
	require.NoError(t, o.SetPlan(plan))
}

func (o *opened) do(method, path string) (*http.Response, string, error) {
	request, err := http.NewRequest(method, "https://"+o.Address()+path, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	response, err := o.client.Do(request)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

func (o *opened) ok(t *testing.T) {
	t.Helper()
	response, body, err := o.do(http.MethodGet, shoots)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Equal(t, 2, response.ProtoMajor)
	require.Equal(t, "answer", body)
}

func TestDoorLeadsToTheHandler(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.ok(t)
	require.EqualValues(t, 1, o.handled.Load())
}

func TestDoorListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", "192.0.2.1:0", ":0"} {
		_, err := Open(address, http.NotFoundHandler(), &tls.Config{})
		require.ErrorContains(t, err, "loopback", address)
	}
}

func TestStatusAnswersInsteadOfTheHandler(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.plan(t, faults.Rule{Action: faults.Status, Code: 429, RetryAfter: faults.Duration(2 * time.Second), Verbs: []string{"patch"}, Times: 2})
	for range 2 {
		response, body, err := o.do(http.MethodPatch, shoots+"/c-1")
		require.NoError(t, err)
		require.Equal(t, 429, response.StatusCode)
		require.Equal(t, "2", response.Header.Get("Retry-After"))
		require.Contains(t, body, `"reason":"TooManyRequests"`)
		require.Contains(t, body, `"retryAfterSeconds":2`)
	}
	require.Zero(t, o.handled.Load())
	response, _, err := o.do(http.MethodPatch, shoots+"/c-1")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "only twice")
	o.ok(t)
	require.Equal(t, []int64{2}, o.Hits())
}

// A role without the right and credentials that have expired are told as the server itself tells them.
func TestRefusedAccess(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.plan(t, faults.Rule{Action: faults.Status, Code: 403, Verbs: []string{"patch", "list"}}, faults.Rule{Action: faults.Status, Code: 401})
	response, body, err := o.do(http.MethodPatch, shoots+"/c-1")
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	var status metav1.Status
	require.NoError(t, json.Unmarshal([]byte(body), &status))
	require.Equal(t, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Group: "core.gardener.cloud", Kind: "shoots", Name: "c-1"},
		Message: `shoots.core.gardener.cloud "c-1" is forbidden: User "landscape:user" cannot patch resource "shoots" in API group "core.gardener.cloud" in the namespace "garden-x"`,
	}, status)
	_, body, err = o.do(http.MethodGet, shoots)
	require.NoError(t, err)
	require.Contains(t, body, `cannot list resource`)
	response, body, err = o.do(http.MethodGet, shoots+"/c-1")
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.Contains(t, body, `"message":"Unauthorized","reason":"Unauthorized","code":401`)
}

func TestShareHitsTheSameRequestsEachTime(t *testing.T) {
	t.Parallel()
	pattern := func() string {
		o := open(t)
		o.plan(t, faults.Rule{Action: faults.Status, Code: 500, Share: 0.3})
		codes := ""
		for range 60 {
			response, _, err := o.do(http.MethodGet, shoots)
			require.NoError(t, err)
			codes += fmt.Sprint(response.StatusCode / 100)
		}
		return codes
	}
	first := pattern()
	require.Contains(t, first, "5")
	require.Contains(t, first, "2")
	require.Equal(t, first, pattern())
}

func TestLoseHandlesAndDoesNotAnswer(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.plan(t, faults.Rule{Action: faults.Lose, Verbs: []string{"patch"}}, faults.Rule{Action: faults.Drop, Verbs: []string{"delete"}})
	_, _, err := o.do(http.MethodPatch, shoots+"/c-1")
	require.Error(t, err)
	require.EqualValues(t, 1, o.handled.Load(), "a lost answer was handled")
	_, _, err = o.do(http.MethodDelete, shoots+"/c-1")
	require.Error(t, err)
	require.EqualValues(t, 1, o.handled.Load(), "a dropped request was not")
	o.ok(t)
}

func TestGarbageIsNoAnswer(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.plan(t, faults.Rule{Action: faults.Garbage})
	response, body, err := o.do(http.MethodGet, shoots)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NotEqual(t, "answer", body)
	require.Zero(t, o.handled.Load())
}

func TestDelayHoldsBack(t *testing.T) {
	t.Parallel()
	o := open(t)
	const each = 30 * time.Millisecond
	o.plan(t, faults.Rule{Action: faults.Delay, Delay: faults.Duration(each)}, faults.Rule{Action: faults.Delay, Delay: faults.Duration(each)})
	began := time.Now()
	o.ok(t)
	require.GreaterOrEqual(t, time.Since(began), 2*each)
}

// patience is how long is waited for what has to come; machines may be busy.
const patience = time.Minute

// isRefused asks whether nobody listens at the address.
func isRefused(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return true
	}
	_ = conn.Close()
	return false
}

func TestRefuseClosesTheDoorAndOpensItAgain(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.ok(t)
	o.plan(t, faults.Rule{Action: faults.Refuse, For: faults.Duration(3 * time.Second)})
	require.Eventually(t, func() bool { return isRefused(o.Address()) }, patience, time.Millisecond)
	require.Eventually(t, func() bool { return !isRefused(o.Address()) }, patience, time.Millisecond)
	o.ok(t)
}

func TestNewPlanOpensARefusingDoor(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.plan(t, faults.Rule{Action: faults.Refuse})
	require.Eventually(t, func() bool { return isRefused(o.Address()) }, patience, time.Millisecond)
	o.plan(t)
	o.client.CloseIdleConnections()
	o.ok(t)
}

func TestCloseWatchesEndsOpenWatches(t *testing.T) {
	t.Parallel()
	o := open(t)
	watched := make(chan error, 1)
	go func() {
		_, _, err := o.do(http.MethodGet, shoots+"?watch=true")
		watched <- err
	}()
	require.Eventually(t, func() bool { return o.handled.Load() == 1 }, patience, time.Millisecond)
	o.plan(t, faults.Rule{Action: faults.CloseWatches})
	require.Equal(t, shoots, <-o.ended)
	require.NoError(t, <-watched, "the watch ends like one whose time is over")
	o.ok(t)
}

func TestRefuseCutsOpenWatches(t *testing.T) {
	t.Parallel()
	o := open(t)
	watched := make(chan error, 1)
	go func() {
		_, _, err := o.do(http.MethodGet, shoots+"?watch=true")
		watched <- err
	}()
	require.Eventually(t, func() bool { return o.handled.Load() == 1 }, patience, time.Millisecond)
	o.plan(t, faults.Rule{Action: faults.Refuse})
	require.Error(t, <-watched)
	require.Equal(t, shoots, <-o.ended)
}

func TestADoorThatWasClosedStaysShut(t *testing.T) {
	t.Parallel()
	o := open(t)
	require.NoError(t, o.Close())
	require.ErrorIs(t, o.SetPlan(faults.Plan{}), port.ErrReleased)
	require.True(t, isRefused(o.Address()))
	require.NoError(t, o.Close())
}
