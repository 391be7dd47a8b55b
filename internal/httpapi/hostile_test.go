package httpapi_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/internal/httpapi"
)

// writing are the routes that read a body.
func writing() []httpapi.RouteInfo {
	var list []httpapi.RouteInfo
	for _, route := range httpapi.Routes() {
		if route.Media != nil {
			list = append(list, route)
		}
	}
	return list
}

func TestHostileBodiesAreRefusedByEveryRoute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-9", State: fleet.Failed}, fleet.Operation{ID: "op-9", State: fleet.Failed})
	megabytes := `{"version":"` + strings.Repeat("x", 10<<20) + `"}`
	for _, route := range writing() {
		path := example(route)
		problem(t, f.post(path, megabytes), http.StatusRequestEntityTooLarge, "")

		// The same without a length in front.
		chunked := request(http.MethodPost, path, io.MultiReader(strings.NewReader(megabytes)))
		require.Negative(t, chunked.ContentLength)
		problem(t, f.send(chunked), http.StatusRequestEntityTooLarge, "")

		for _, body := range []string{
			strings.Repeat(`[`, 500_000), strings.Repeat(`{"targets":`, 50_000), strings.Repeat(`{"a":[`, 17) + strings.Repeat(`]}`, 17),
			"{\"version\":\"\xff\xfe\"}", "\xff", `{`, `{}}`, `{"a":`, `nul`, `"text"`, `17`, `[]`, `true`, "\x00", `{"\ud800":1}`, `{"a":1}{"b":2}`,
		} {
			r := f.post(path, body)
			require.Equal(t, http.StatusBadRequest, r.status, r.text)
			require.Less(t, len(r.text), 2000)
		}
		problem(t, f.post(path, `{}`, "Content-Type", "text/plain"), http.StatusUnsupportedMediaType, "")
		problem(t, f.post(path, `{}`, "Content-Type", "application/json; charset=iso-8859-1"), http.StatusUnsupportedMediaType, "")
		problem(t, f.post(path, `{}`, "Content-Type", "application/json;;"), http.StatusUnsupportedMediaType, "")
		problem(t, f.post(path, `{}`, "Content-Encoding", "gzip"), http.StatusUnsupportedMediaType, "")

		broken := request(http.MethodPost, path, io.MultiReader(strings.NewReader(`{"a"`), brokenReader{}))
		problem(t, f.send(broken), http.StatusBadRequest, "")
	}
	require.Equal(t, 1, f.orchestrations())
}

func TestTheLargestBodyIsRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := `{"targets":{"include":[{"target":"all"}]}}`
	body += strings.Repeat(" ", 1<<20-len(body))
	require.Equal(t, http.StatusAccepted, f.post("/upgrade/cluster", body).status)
	problem(t, f.post("/upgrade/cluster", body+" "), http.StatusRequestEntityTooLarge, "")
	more := page(t, document("rt-1", "c-1"))
	more += strings.Repeat(" ", 8<<20-len(more))
	require.Equal(t, http.StatusOK, f.post("/runtimes/import", more).status)
	problem(t, f.post("/runtimes/import", more+" "), http.StatusRequestEntityTooLarge, "")
}

// Who sends too much reads the answer, and no broken connection: the server takes what is on its way.
func TestWhoSendsTooMuchIsToldSo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	url := "http://" + f.serve(func(*http.Server) {})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for _, body := range []io.Reader{strings.NewReader(strings.Repeat(" ", 20<<20)), io.MultiReader(strings.NewReader(strings.Repeat(" ", 20<<20)))} {
		r, err := client.Post(url+"/runtimes/import", "application/json", body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, http.StatusRequestEntityTooLarge, r.StatusCode)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// A thousand requests at once all get an answer that says what it is.
func TestAThousandRequestsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *httpapi.Options) { o.MaxWait = time.Minute })
	f.addRuntimes(document("rt-1", "c-1"), document("rt-2", "c-2"))
	var wait sync.WaitGroup
	statuses := make([]int, 1000)
	for i := range statuses {
		wait.Go(func() {
			switch i % 4 {
			case 0:
				statuses[i] = f.get("/runtimes").status
			case 1:
				statuses[i] = f.post("/upgrade/cluster", `{"targets":{"include":[{"target":"all"}]}}`).status
			case 2:
				statuses[i] = f.post("/upgrade/cluster", `{"targets":{}}`).status
			default:
				statuses[i] = f.get("/orchestrations?page_size=10").status
			}
		})
	}
	wait.Wait()
	for i, status := range statuses {
		require.Equal(t, []int{http.StatusOK, http.StatusAccepted, http.StatusBadRequest, http.StatusOK}[i%4], status)
	}
	require.Equal(t, 250, f.orchestrations())
}

// serve runs the handler behind the limits of the real server.
func (f *fixture) serve(change func(*http.Server)) string {
	f.t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = httpapi.NewServer(f.handler, discard, httpapi.DefaultTimeout)
	change(server.Config)
	server.Start()
	f.t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestSlowHeadersAndBodiesDoNotHoldAConnection(t *testing.T) {
	t.Parallel()
	address := newFixture(t).serve(func(s *http.Server) {
		require.Positive(t, s.ReadHeaderTimeout)
		require.Positive(t, s.ReadTimeout)
		require.Positive(t, s.IdleTimeout)
		s.ReadHeaderTimeout, s.ReadTimeout = 50*time.Millisecond, 50*time.Millisecond
	})
	for _, begin := range []string{
		"GET /orchestrations HTTP/1.1\r\nHost: localhost\r\nX-Slow:",
		"POST /upgrade/cluster HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, err = io.WriteString(connection, begin)
		require.NoError(t, err)
		text, err := io.ReadAll(connection)
		require.NoError(t, err, "the server ends the connection by itself")
		if strings.HasPrefix(begin, "POST") {
			require.Contains(t, string(text), "400 Bad Request")
			require.Contains(t, string(text), "application/problem+json")
		}
		require.NoError(t, connection.Close())
	}
}

func TestRequestsThatAreNoHTTPAreSurvived(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address := f.serve(func(*http.Server) {})
	for _, text := range []string{
		"\x16\x03\x01\x02\x00", "GET /orchestrations HTTP/1.1\r\n\r\n", "GET /orchestrations HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"POST /upgrade/cluster HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nxyz",
		"POST /upgrade/cluster HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
		"GET /" + strings.Repeat("a", 100<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "GET http://evil.example/orchestrations HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\nConnection: close\r\n\r\n",
	} {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, _ = io.WriteString(connection, text)
		require.NoError(t, connection.(*net.TCPConn).CloseWrite())
		r, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err == nil {
			require.GreaterOrEqual(t, r.StatusCode, 400, "%.60q", text)
			require.NoError(t, r.Body.Close())
		}
		require.NoError(t, connection.Close())
	}
	require.Zero(t, f.orchestrations())
	require.NotContains(t, f.log.String(), "panic")
}

// The store goes away under the server: every route says so, and none takes it for the caller's fault.
func TestAStoreThatIsAwayIs503(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.addOrchestration(fleet.Orchestration{ID: "o-9", State: fleet.Failed})
	require.NoError(t, f.store.SQL().Close())
	for _, route := range writing() {
		if route.Role != httpapi.RoleAdmin {
			continue // a preview writes nothing, and reading goes on
		}
		body := `{"version":"1.33.4","targets":{"include":[{"target":"all"}]}}`
		switch route.ID {
		case "importRuntimes":
			body = page(t, document("rt-1", "c-1"))
		case "retryOrchestration":
			body = ""
		}
		r := f.post(example(route), body)
		problem(t, r, http.StatusServiceUnavailable, "")
		require.NotEmpty(t, r.header.Get("Retry-After"))
	}
	problem(t, f.send(request(http.MethodPut, "/orchestrations/o-9/cancel", nil)), http.StatusServiceUnavailable, "")
}

// FuzzUpgrade feeds bodies to a route that upgrades. Whatever comes, the answer is 202, 400 or 413, and what is accepted selects by at least one field
// in every entry.
func FuzzUpgrade(f *testing.F) {
	for _, seed := range []string{
		olderZero, newerZero, everyZero, `{"targets":{"include":[{"target":"all"}]}}`, `{"targets":{"include":[{"runtimeID":"rt-1","planName":"trial"}]}}`,
		`{"targets":{"include":[{"region":"eu-|("}]}}`, `{"targets":{"include":[{"target":"all"}]},"strategy":{"schedule":"2030-01-02T22:00:00Z","maintenanceWindow":true}}`,
		`{"kubernetes":{"machineImageVersion":"1"},"targets":{"include":[{"shoot":"c-1"}],"exclude":[{"planName":"free"}]},"retryoperation":{"immediate":"false"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		commands := &recordingCommands{}
		handler, err := httpapi.New(httpapi.Options{
			Reader: reader{}, Commands: commands, Previewer: commands, Authenticator: httpapi.Loopback{}, Logger: discard, Clock: clock,
		})
		require.NoError(t, err)
		w, preview := httptest.NewRecorder(), httptest.NewRecorder()
		handler.ServeHTTP(w, request(http.MethodPost, "/upgrade/cluster", bytes.NewReader(body)))
		handler.ServeHTTP(preview, request(http.MethodPost, "/upgrade/cluster/preview", bytes.NewReader(body)))
		require.Len(t, commands.previewed, len(commands.created), "a preview refuses what an upgrade refuses")
		require.Equal(t, w.Code == http.StatusAccepted, preview.Code == http.StatusOK)
		require.Contains(t, []int{http.StatusAccepted, http.StatusBadRequest, http.StatusRequestEntityTooLarge}, w.Code)
		require.Equal(t, w.Code == http.StatusAccepted, len(commands.created) == 1)
		for _, request := range commands.created {
			require.NoError(t, request.Parameters.Targets.Validate())
			require.NotEmpty(t, request.Parameters.Targets.Include)
			require.GreaterOrEqual(t, request.Parameters.Strategy.Parallel.Workers, 1)
			require.Len(t, request.BodyHash, 64)
		}
	})
}

// FuzzQuery feeds queries to the lists of runtimes and events. Whatever comes, the answer is 200 or 400.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "page=1&page_size=2", "state=all&shoot=c-1&shoot=c-2", "op_detail=last&kyma_config=true&expired=false", "state=%00", "shoot=%ff", "page=9999999999", "a=b;c=d",
		"region='--&plan=\\&account=?&subaccount=%25&instance_id=_&runtime_id=*", "%", "page", "=&=", "state=SUSPENDED&state=failed",
		"before=5&page_size=2", "before=05&page=1", "before=9223372036854775808", "level=error&instance_ids=a,b&operation_id=c&before=1",
	} {
		f.Add(seed)
	}
	api := newFixture(f)
	f.Fuzz(func(t *testing.T, query string) {
		for _, list := range []string{"/runtimes", "/events"} {
			r := request(http.MethodGet, list, nil)
			r.URL.RawQuery = query
			require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, api.send(r).status, list)
		}
	})
}

// FuzzRetry feeds bodies and content types to a retry. A body that names operations never makes a retry of everything.
func FuzzRetry(f *testing.F) {
	f.Add("operation-id=op-1&immediate=true", true)
	f.Add("operation-id=", true)
	f.Add("operation-id=a&operation-id=b", true)
	f.Add("%", true)
	f.Add(`{"operation-id":["op-1"],"immediate":"true"}`, false)
	f.Add(`{"operation-id":[]}`, false)
	f.Add(`{"operationIDs":"op-1"}`, false)
	f.Fuzz(func(t *testing.T, body string, asForm bool) {
		commands := &recordingCommands{}
		handler, err := httpapi.New(httpapi.Options{
			Reader: reader{}, Commands: commands, Previewer: commands, Authenticator: httpapi.Loopback{}, Logger: discard, Clock: clock,
		})
		require.NoError(t, err)
		r := request(http.MethodPost, "/orchestrations/o-1/retry", strings.NewReader(body))
		if asForm {
			r.Header.Set("Content-Type", form)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		require.Contains(t, []int{http.StatusAccepted, http.StatusBadRequest, http.StatusRequestEntityTooLarge}, w.Code)
		for _, request := range commands.retried {
			for _, id := range request.OperationIDs {
				require.NotEmpty(t, id)
			}
			if asForm && strings.Contains(body, "operation-id=") {
				require.NotEmpty(t, request.OperationIDs)
			}
		}
	})
}
