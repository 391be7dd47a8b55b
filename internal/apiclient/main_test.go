package apiclient

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// thing is a small object of an API.
type thing struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func thingID(t *thing) string { return t.ID }

// overNetwork returns a client of a real server whose pauses are too short to notice.
func overNetwork(t *testing.T, handler http.HandlerFunc, adjust ...func(*Options)) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	opts := Options{BaseURL: server.URL, HTTPClient: server.Client(), FirstPause: time.Microsecond, LongestPause: time.Millisecond}
	for _, f := range adjust {
		f(&opts)
	}
	return New(opts)
}

// inMemory is a transport that calls the handler directly, so that it can be used inside a synctest bubble.
type inMemory func(http.ResponseWriter, *http.Request)

func (handler inMemory) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	recorder := httptest.NewRecorder()
	handler(recorder, request)
	return recorder.Result(), nil
}

// withoutNetwork returns a client with the real pauses; tests use it inside a synctest bubble.
func withoutNetwork(handler http.HandlerFunc) *Client {
	return New(Options{BaseURL: "http://keb.example", HTTPClient: &http.Client{Transport: inMemory(handler)}})
}
