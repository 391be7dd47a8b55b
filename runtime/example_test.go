package runtime_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/swell-fleet/swell/runtime"
)

// newBroker starts a server that knows two runtimes in Europe and refuses states that it does not know.
func newBroker() *httptest.Server {
	const page = `{"data": [
		{"instanceID": "i-1", "runtimeID": "rt-1", "shootName": "c-aa11", "region": "eu-demo-1", "servicePlanName": "aws", "status": {
			"createdAt": "2024-05-15T10:00:00Z", "modifiedAt": "2024-05-15T12:00:00Z", "state": "error",
			"provisioning": {"operationID": "op-1", "state": "succeeded", "createdAt": "2024-05-15T10:00:00Z"},
			"upgradingCluster": {"data": [{"operationID": "op-2", "state": "failed", "createdAt": "2024-05-15T12:00:00Z"}]}}},
		{"instanceID": "i-2", "runtimeID": "rt-2", "shootName": "c-bb22", "region": "eu-demo-1", "servicePlanName": "trial", "status": {
			"createdAt": "2024-05-15T11:00:00Z", "modifiedAt": "2024-05-15T11:00:00Z", "state": "succeeded",
			"provisioning": {"operationID": "op-3", "state": "succeeded", "createdAt": "2024-05-15T11:00:00Z"}}}
	], "count": 2, "totalCount": 2}`
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case query.Get(runtime.StateParam) == "finished":
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"title": "Bad Request", "detail": "state: \"finished\" is not a state of a runtime"}`)
		case query.Get("page") == "1":
			_, _ = io.WriteString(w, page)
		default:
			_, _ = io.WriteString(w, `{"data": [], "count": 0, "totalCount": 2}`)
		}
	}))
}

// All runtimes of a region with what happened to them last.
func ExampleNewClient() {
	broker := newBroker()
	defer broker.Close()

	client := runtime.NewClient(broker.URL, broker.Client())
	page, err := client.ListRuntimes(runtime.ListParameters{Regions: []string{"eu-demo-1"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rt := range page.Data {
		last := rt.LastOperation()
		fmt.Printf("%s (%s) is %s: %s %s\n", rt.ShootName, rt.ServicePlanName, rt.Status.State, last.Type, last.State)
	}
	// Output:
	// c-aa11 (aws) is error: cluster upgrade failed
	// c-bb22 (trial) is succeeded: provision succeeded
}

// What a server refuses is an *Error with its reason.
func ExampleError() {
	broker := newBroker()
	defer broker.Close()

	client := runtime.NewClient(broker.URL, broker.Client())
	_, err := client.ListRuntimes(runtime.ListParameters{States: []runtime.State{"finished"}})
	var answer *runtime.Error
	if errors.As(err, &answer) {
		fmt.Println(answer.Status, answer.Reason)
	}
	// Output:
	// 400 state: "finished" is not a state of a runtime
}

// A suspended runtime was woken up again: only the newest operation counts.
func ExampleRuntimeDTO_LastOperation() {
	at := func(hour int) time.Time { return time.Date(2024, time.May, 15, hour, 0, 0, 0, time.UTC) }
	suspension := runtime.Operation{OperationID: "op-2", State: "succeeded", CreatedAt: at(11)}
	rt := runtime.RuntimeDTO{Status: runtime.RuntimeStatus{
		Provisioning:   &runtime.Operation{OperationID: "op-1", State: "succeeded", CreatedAt: at(10)},
		Deprovisioning: &suspension,
		Suspension:     &runtime.OperationsData{Data: []runtime.Operation{suspension}},
		Unsuspension:   &runtime.OperationsData{Data: []runtime.Operation{{OperationID: "op-3", State: "succeeded", CreatedAt: at(12)}}},
	}}
	last := rt.LastOperation()
	fmt.Println(last.OperationID, last.Type, last.State)
	// Output:
	// op-3 unsuspension succeeded
}
