package door

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// serve handles one request, or does to it what the plan says. Delays come
// first and add up; of the other rules the first that strikes decides.
func (d *Door) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	rules := d.rules
	d.mu.Unlock()

	asked := faults.Describe(r)
	for index, rule := range rules.Rules() {
		if rule.Action == faults.Delay && rule.Matches(asked) && rules.Strikes(index) && !sleep(r.Context(), time.Duration(rule.Delay)) {
			return
		}
	}
	for index, rule := range rules.Rules() {
		if rule.Action.Strikes() && rule.Matches(asked) && rules.Strikes(index) {
			d.strike(w, r, rule)
			return
		}
	}
	if asked.Watch {
		ctx, done := d.watches.begin(r.Context())
		defer done()
		r = r.WithContext(ctx)
	}
	d.handler.ServeHTTP(w, r)
}

func (d *Door) strike(w http.ResponseWriter, r *http.Request, rule faults.Rule) {
	switch rule.Action {
	case faults.Status:
		refuse(w, r, rule)
	case faults.Garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\"kind\":\"Shoot\",\"apiVersion\":\"core.gardener.cloud/v1beta1\",\"spec\":{\x00\xff\xfe<html>")
	case faults.Lose:
		d.handler.ServeHTTP(&lost{header: http.Header{}}, r)
		panic(http.ErrAbortHandler)
	default: // Drop
		panic(http.ErrAbortHandler)
	}
}

// refuse answers with an error in the form that a Kubernetes API server gives it.
func refuse(w http.ResponseWriter, r *http.Request, rule faults.Rule) {
	status := refusal(r, rule.Code)
	if seconds := int32(time.Duration(rule.RetryAfter) / time.Second); seconds > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: seconds}
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(rule.Code)
	_ = json.NewEncoder(w).Encode(status) // The client may be gone.
}

// refusal is the body of an answer of the given code. Those of 401 and 403 are what a server says to credentials that have expired and to a role
// that lacks the right.
func refusal(r *http.Request, code int) metav1.Status {
	var status metav1.Status
	switch code {
	case http.StatusUnauthorized:
		status = apierrors.NewUnauthorized("Unauthorized").Status()
	case http.StatusForbidden:
		status = missingRight(r).Status()
	default:
		reasons := map[int]metav1.StatusReason{
			http.StatusNotFound:            metav1.StatusReasonNotFound,
			http.StatusConflict:            metav1.StatusReasonConflict,
			http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
			http.StatusInternalServerError: metav1.StatusReasonInternalError,
			http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
			http.StatusGatewayTimeout:      metav1.StatusReasonTimeout,
		}
		status = metav1.Status{
			Status: metav1.StatusFailure, Message: fmt.Sprintf("fault plan: answered with %d", code), Reason: reasons[code], Code: int32(code),
		}
	}
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	return status
}

// missingRight is what the server itself would say if the user might not do what is asked for.
func missingRight(r *http.Request) *apierrors.StatusError {
	attributes := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "landscape:user"}, Verb: "get", Path: r.URL.Path}
	parser := request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}
	if info, err := parser.NewRequestInfo(r); err == nil {
		attributes.Verb, attributes.ResourceRequest = info.Verb, info.IsResourceRequest
		attributes.APIGroup, attributes.APIVersion, attributes.Namespace = info.APIGroup, info.APIVersion, info.Namespace
		attributes.Resource, attributes.Subresource, attributes.Name = info.Resource, info.Subresource, info.Name
	}
	return responsewriters.ForbiddenStatusError(attributes, "")
}

// lost is a writer for an answer that nobody gets.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header         { return l.header }
func (l *lost) Write(p []byte) (int, error) { return len(p), nil }
func (l *lost) WriteHeader(int)             {}
func (l *lost) Flush()                      {}

// watches knows the open watches of a door.
type watches struct {
	mu   sync.Mutex
	next int
	open map[int]context.CancelFunc
}

// begin returns the context of a new watch and the function that forgets it.
func (w *watches) begin(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[int]context.CancelFunc{}
	}
	id := w.next
	w.next++
	w.open[id] = cancel
	return ctx, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, id)
	}
}

func (w *watches) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, cancel := range w.open {
		cancel()
	}
}
