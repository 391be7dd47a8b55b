package provisioner

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/swell-fleet/swell/landscape/internal/faults"
)

// Member is a runtime that the Provisioner knows from the beginning.
type Member struct {
	RuntimeID  string
	Shoot      string
	Tenant     string
	SubAccount string
	// KymaVersion and KubernetesVersion are what it has.
	KymaVersion       string
	KubernetesVersion string
	Region            string
	Provider          string
	Created           time.Time
}

// Mutation is a request to change a runtime.
type Mutation struct {
	Time      time.Time `json:"time"`
	Field     string    `json:"field"`
	RuntimeID string    `json:"runtimeID"`
	Tenant    string    `json:"tenant"`
	// Accepted says whether an operation was begun, which has the ID Operation;
	// otherwise Reason says why not.
	Accepted  bool   `json:"accepted"`
	Operation string `json:"operation,omitempty"`
	Reason    string `json:"reason,omitempty"`
	// Config is what was sent.
	Config json.RawMessage `json:"config"`
}

// record is a runtime with its newest operation.
type record struct {
	Member
	kyma    map[string]any
	cluster map[string]any
	last    *operation
	hits    int
}

// operation is something that the Provisioner does to a runtime. How far it is
// follows from the clock.
type operation struct {
	id      string
	kind    string
	runtime string
	began   time.Time
	lasting time.Duration
	outcome faults.Outcome
	// before is the configuration of Kyma to go back to when the upgrade fails.
	before map[string]any
	ended  bool
}

// state says how far the operation is. What is stuck never ends.
func (o *operation) state(now time.Time) string {
	passed := now.Sub(o.began)
	switch {
	case o.outcome != faults.Stuck && passed >= o.lasting:
		if o.outcome == faults.Fail {
			return "Failed"
		}
		return "Succeeded"
	case passed*10 < o.lasting:
		return "Pending"
	}
	return "InProgress"
}

func (o *operation) document(now time.Time) map[string]any {
	state := o.state(now)
	document := map[string]any{
		"id": o.id, "operation": o.kind, "state": state, "runtimeID": o.runtime, "compassRuntimeID": nil, "lastError": nil,
	}
	switch state {
	case "Pending":
		document["message"] = "waiting in the queue"
	case "InProgress":
		share := min(99, int(100*now.Sub(o.began)/max(1, o.lasting)))
		document["message"] = fmt.Sprintf("simulated %s is being carried out (%d%%)", o.kind, share)
	case "Failed":
		document["message"] = "simulated failure"
		document["lastError"] = map[string]any{
			"errMessage": "the simulated upgrade did not become healthy in time", "reason": "ERR_TIMEOUT", "component": "provisioner",
		}
	default:
		document["message"] = "Operation succeeded"
	}
	return document
}

func newRecord(m Member, id string) *record {
	entry := func(key, value string, secret bool) map[string]any {
		return map[string]any{"key": key, "value": value, "secret": secret}
	}
	component := func(name, namespace string, settings ...any) map[string]any {
		return map[string]any{"component": name, "namespace": namespace, "sourceURL": nil, "configuration": settings}
	}
	return &record{
		Member: m,
		kyma: map[string]any{
			"version": m.KymaVersion, "profile": "Production",
			"configuration": []any{entry("global.domainName", m.Shoot+".simulated.example", false)},
			"components": []any{
				component("istio", "istio-system"), component("serverless", "kyma-system"),
				component("monitoring", "kyma-system", entry("grafana.adminPassword", "simulated", true)),
			},
		},
		cluster: map[string]any{
			"name": m.Shoot, "kubernetesVersion": m.KubernetesVersion, "machineImage": "gardenlinux", "machineImageVersion": "1592.4.0",
			"region": m.Region, "provider": m.Provider,
		},
		last: &operation{id: id, kind: "Provision", runtime: m.RuntimeID, began: m.Created, ended: true, outcome: faults.Succeed},
	}
}
