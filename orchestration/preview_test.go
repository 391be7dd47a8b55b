package orchestration_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/testkit/dtotest"
	"github.com/swell-fleet/swell/orchestration"
)

// What callers compile against.
var (
	_ func(orchestration.ExtendedClient, orchestration.Parameters, orchestration.ListParameters) (orchestration.Preview, error) = orchestration.ExtendedClient.PreviewKyma
	_ func(orchestration.ExtendedClient, orchestration.Parameters, orchestration.ListParameters) (orchestration.Preview, error) = orchestration.ExtendedClient.PreviewCluster
	_                                                                                                                           = orchestration.Preview{
		Type: orchestration.Type(""), At: time.Time{}, Revision: "", Executor: "", Parameters: orchestration.Parameters{}, StartsAt: (*time.Time)(nil),
		FirstWindowBegin: (*time.Time)(nil), LastWindowBegin: (*time.Time)(nil), Skipped: 0, Runtimes: orchestration.PreviewRuntimeList{},
		LeftOut: orchestration.LeftOutList{}, LeftOutReasons: map[orchestration.LeftOutReason]int(nil), Unmatched: []int(nil),
	}
	_ = orchestration.PreviewRuntimeList{Data: []orchestration.PreviewRuntime(nil), Count: 0, TotalCount: 0}
	_ = orchestration.PreviewRuntime{
		ShootName: "", RuntimeID: "", InstanceID: "", GlobalAccountID: "", SubAccountID: "", Region: "", ServicePlanID: "", ServicePlanName: "",
		KubernetesVersion: "", KymaVersion: "", MaintenanceWindowBegin: (*time.Time)(nil), MaintenanceWindowEnd: (*time.Time)(nil), Skipped: "", BusyWith: "",
	}
)

func TestPreviewsKeepTheirJSONForm(t *testing.T) {
	t.Parallel()
	dtotest.RoundTrip[orchestration.Preview](t, "preview")
	dtotest.RoundTrip[orchestration.PreviewRuntime](t, "preview_runtime")
	dtotest.RoundTrip[orchestration.PreviewRuntimeList](t, "preview_runtime_list")
}

// previewServer answers previews of a fleet in pages.
type previewServer struct {
	runtimes, leftOut int
	// revision names the preview that the nth request belongs to.
	revision func(n int) string
	requests []string
}

func (s *previewServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI()+" "+string(body))
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		http.Error(w, "a preview has no key", http.StatusBadRequest)
		return
	}
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	size, err := strconv.Atoi(r.URL.Query().Get("page_size"))
	if err != nil {
		size = 4
	}
	p := orchestration.Preview{Revision: "a"}
	if s.revision != nil {
		p.Revision = s.revision(len(s.requests))
	}
	p.Runtimes.TotalCount, p.LeftOut.TotalCount = s.runtimes, s.leftOut
	for i := (number - 1) * size; i < number*size; i++ {
		if i < s.runtimes {
			p.Runtimes.Data = append(p.Runtimes.Data, orchestration.PreviewRuntime{ShootName: fmt.Sprintf("%s-%d", p.Revision, i)})
		}
		if i < s.leftOut {
			p.LeftOut.Data = append(p.LeftOut.Data, orchestration.LeftOut{ShootName: fmt.Sprintf("%s-x%d", p.Revision, i)})
		}
	}
	p.Runtimes.Count, p.LeftOut.Count = len(p.Runtimes.Data), len(p.LeftOut.Data)
	_ = json.NewEncoder(w).Encode(p)
}

func (s *previewServer) client(t *testing.T) orchestration.ExtendedClient {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client := server.Client()
	t.Cleanup(client.CloseIdleConnections)
	return orchestration.NewExtendedClientWithHTTP(t.Context(), server.URL, client)
}

func TestPreviewsAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	params := orchestration.Parameters{Targets: all(), Version: "fast"}
	body, err := json.Marshal(params)
	require.NoError(t, err)
	for _, counts := range [][2]int{{0, 0}, {3, 0}, {4, 4}, {9, 2}, {2, 9}, {0, 5}} {
		for _, size := range []int{0, 1, 4, 100} {
			s := &previewServer{runtimes: counts[0], leftOut: counts[1]}
			got, err := s.client(t).PreviewKyma(params, orchestration.ListParameters{PageSize: size, States: []string{"failed"}})
			require.NoError(t, err)
			require.NotNil(t, got.Runtimes.Data)
			require.NotNil(t, got.LeftOut.Data)
			for i, r := range got.Runtimes.Data {
				require.Equal(t, fmt.Sprintf("a-%d", i), r.ShootName)
			}
			require.Equal(t, []int{counts[0], counts[0], counts[1], counts[1]}, []int{len(got.Runtimes.Data), got.Runtimes.Count, len(got.LeftOut.Data), got.LeftOut.Count})
			want := "POST /upgrade/kyma/preview?page=1 "
			if size > 0 {
				want = fmt.Sprintf("POST /upgrade/kyma/preview?page=1&page_size=%d ", size)
			}
			require.Equal(t, want+string(body), s.requests[0])
		}
	}
	s := &previewServer{runtimes: 9}
	got, err := s.client(t).PreviewCluster(params, orchestration.ListParameters{Page: 2, PageSize: 3})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3, 9}, []int{len(got.Runtimes.Data), got.Runtimes.Count, got.Runtimes.TotalCount})
	require.Equal(t, []string{"POST /upgrade/cluster/preview?page=2&page_size=3 " + string(body)}, s.requests)
}

// A fleet that changes between two pages makes the client begin again, and not for ever; a part is never returned.
func TestAPreviewIsOnePicture(t *testing.T) {
	t.Parallel()
	params := orchestration.Parameters{Targets: all()}
	once := &previewServer{runtimes: 9, revision: func(n int) string {
		if n < 3 {
			return "before"
		}
		return "after"
	}}
	got, err := once.client(t).PreviewCluster(params, orchestration.ListParameters{})
	require.NoError(t, err)
	require.Equal(t, "after", got.Revision)
	require.Len(t, got.Runtimes.Data, 9)
	require.Equal(t, "after-0", got.Runtimes.Data[0].ShootName)
	require.Len(t, once.requests, 6)

	always := &previewServer{runtimes: 9, revision: strconv.Itoa}
	_, err = always.client(t).PreviewCluster(params, orchestration.ListParameters{})
	require.ErrorContains(t, err, "changes too fast")
	require.Len(t, always.requests, 10)
}

func TestWhatIsNoPreviewIsAnError(t *testing.T) {
	t.Parallel()
	params := orchestration.Parameters{Targets: all()}
	for name, answer := range map[string]string{
		"an empty object":                 `{}`,
		"another object":                  `{"orchestrationID":"o-1"}`,
		"no object":                       `[]`,
		"fewer rows than it says":         `{"revision":"a","runtimes":{"data":[],"count":0,"totalCount":3}}`,
		"more rows than it says":          `{"revision":"a","runtimes":{"data":[{},{}],"count":2,"totalCount":1}}`,
		"the first page again and again":  `{"revision":"a","runtimes":{"data":[{},{}],"count":2,"totalCount":5}}`,
		"fewer left out ones than it has": `{"revision":"a","leftOut":{"data":[],"count":0,"totalCount":1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
			t.Cleanup(server.Close)
			client := server.Client()
			t.Cleanup(client.CloseIdleConnections)
			got, err := orchestration.NewExtendedClientWithHTTP(t.Context(), server.URL, client).PreviewCluster(params, orchestration.ListParameters{})
			require.Error(t, err)
			require.Equal(t, orchestration.Preview{}, got)
		})
	}
	_, err := (&previewServer{}).client(t).PreviewCluster(params, orchestration.ListParameters{PageSize: -1})
	require.ErrorContains(t, err, "page size -1")
}

// A preview changes nothing, so it is asked for again when its answer gets lost; an older server's 404 is told as such.
func TestPreviewsOnDifficultServers(t *testing.T) {
	t.Parallel()
	tries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tries++
		switch {
		case r.URL.Path == "/upgrade/kyma/preview":
			http.NotFound(w, r)
		case tries == 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			_, _ = io.WriteString(w, `{"revision":"a"}`)
		}
	}))
	t.Cleanup(server.Close)
	client := server.Client()
	t.Cleanup(client.CloseIdleConnections)
	api := orchestration.NewExtendedClientWithHTTP(t.Context(), server.URL, client)
	_, err := api.PreviewCluster(orchestration.Parameters{Targets: all()}, orchestration.ListParameters{})
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	_, err = api.PreviewKyma(orchestration.Parameters{Targets: all()}, orchestration.ListParameters{})
	var answer *orchestration.Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, http.StatusNotFound, answer.Status)
	require.Equal(t, 3, tries)
}
