package orchestration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	gardenerfake "github.com/gardener/gardener/pkg/client/core/clientset/versioned/fake"
	gardenerinformers "github.com/gardener/gardener/pkg/client/core/informers/externalversions"
	"github.com/sirupsen/logrus"
	"golang.org/x/oauth2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Start an upgrade of the canary and then of all clusters in Europe, ten at a time and each in its maintenance window, and follow it to
// its end.
func Example() {
	server := demoServer()
	defer server.Close()
	ctx := context.Background()

	tokens := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "the ID token"})
	client := orchestration.NewExtendedClient(ctx, server.URL, tokens)
	started, err := client.UpgradeCluster(orchestration.Parameters{
		Version: "1.33.4",
		Targets: orchestration.TargetSpec{
			Include: []orchestration.RuntimeTarget{{Shoot: "c-canary"}, {Region: "^eu-"}},
			Exclude: []orchestration.RuntimeTarget{{PlanName: "trial"}},
		},
		Strategy: orchestration.StrategySpec{
			Type:     orchestration.ParallelStrategy,
			Schedule: orchestration.MaintenanceWindow,
			Parallel: orchestration.ParallelStrategySpec{Workers: 10},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	for {
		status, err := client.GetOrchestration(started.OrchestrationID)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(status.State, "-", status.OperationStats[orchestration.Succeeded], "succeeded")
		if status.State != orchestration.Pending && status.State != orchestration.InProgress {
			break
		}
		// Minutes are soon enough in real life.
		<-time.After(time.Millisecond)
	}

	operations, err := client.ListOperations(started.OrchestrationID, orchestration.ListParameters{States: []string{orchestration.Failed}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, operation := range operations.Data {
		fmt.Println(operation.ShootName+":", operation.Description)
	}
	// Output:
	// in progress - 0 succeeded
	// in progress - 1 succeeded
	// failed - 2 succeeded
	// c-aa11: machine image is not available in eu-demo-1
}

// demoServer plays a server that needs two looks to carry an orchestration out.
func demoServer() *httptest.Server {
	var looks atomic.Int64
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, status int, value any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("POST /upgrade/cluster", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusAccepted, orchestration.UpgradeResponse{OrchestrationID: "o-1"})
	})
	mux.HandleFunc("GET /orchestrations/o-1", func(w http.ResponseWriter, _ *http.Request) {
		look := int(looks.Add(1))
		status := orchestration.StatusResponse{OrchestrationID: "o-1", State: orchestration.InProgress}
		if look > 2 {
			status.State = orchestration.Failed
		}
		status.OperationStats = map[string]int{orchestration.Succeeded: look - 1}
		reply(w, http.StatusOK, status)
	})
	mux.HandleFunc("GET /orchestrations/o-1/operations", func(w http.ResponseWriter, r *http.Request) {
		page := orchestration.OperationResponseList{Data: []orchestration.OperationResponse{}, TotalCount: 1}
		if r.URL.Query().Get("page") == "1" {
			page.Count = 1
			page.Data = append(page.Data, orchestration.OperationResponse{
				OperationID: "op-1", ShootName: "c-aa11", State: orchestration.Failed, Description: "machine image is not available in eu-demo-1",
			})
		}
		reply(w, http.StatusOK, page)
	})
	return httptest.NewServer(mux)
}

// demoShoots are three clusters of a project.
func demoShoots() *gardenerfake.Clientset {
	shoot := func(name, runtimeID, region string) *gardencorev1beta1.Shoot {
		return &gardencorev1beta1.Shoot{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "garden-kyma",
				Labels:      map[string]string{orchestration.GlobalAccountLabel: "ga-blue"},
				Annotations: map[string]string{orchestration.RuntimeIDAnnotation: runtimeID},
			},
			Spec: gardencorev1beta1.ShootSpec{
				Region: region,
				Maintenance: &gardencorev1beta1.Maintenance{
					TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0100", End: "020000+0100"},
				},
			},
		}
	}
	return gardenerfake.NewSimpleClientset(
		shoot("c-aa11", "rt-1", "eu-demo-1"), shoot("c-bb22", "rt-2", "eu-demo-1"), shoot("c-canary", "rt-3", "us-demo-1"))
}

// demoLister knows the runtimes of demoShoots. In a program this is a client of the runtime package or a database.
type demoLister struct{}

func (demoLister) ListAllRuntimes() ([]runtime.RuntimeDTO, error) {
	dto := func(runtimeID string) runtime.RuntimeDTO {
		return runtime.RuntimeDTO{
			RuntimeID: runtimeID, InstanceID: "instance-" + runtimeID,
			Status: runtime.RuntimeStatus{Provisioning: &runtime.Operation{State: "succeeded"}},
		}
	}
	suspended := dto("rt-2")
	suspended.Status.Suspension = &runtime.OperationsData{Data: []runtime.Operation{{State: "succeeded"}}}
	return []runtime.RuntimeDTO{dto("rt-1"), suspended, dto("rt-3")}, nil
}

// Find out which runtimes targets mean: the canary first, then all others.
func ExampleGardenerRuntimeResolver_Resolve() {
	gardener := demoShoots().CoreV1beta1()
	logger := logrus.New()
	logger.SetLevel(logrus.WarnLevel)

	resolver := orchestration.NewGardenerRuntimeResolver(gardener, "garden-kyma", demoLister{}, logger)
	runtimes, err := resolver.Resolve(orchestration.TargetSpec{
		Include: []orchestration.RuntimeTarget{{Shoot: "c-canary"}, {Target: orchestration.TargetAll}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range runtimes {
		fmt.Println(r.ShootName, r.RuntimeID, r.GlobalAccountID, r.MaintenanceWindowBegin.Format("15:04 -07:00"))
	}
	// Output:
	// c-canary rt-3 ga-blue 22:00 +01:00
	// c-aa11 rt-1 ga-blue 22:00 +01:00
}

// See what is left out and why, with the Shoots from an informer.
func ExampleNewCachedGardenerRuntimeResolver() {
	ctx, cancel := context.WithCancel(context.Background())
	factory := gardenerinformers.NewSharedInformerFactoryWithOptions(demoShoots(), 0, gardenerinformers.WithNamespace("garden-kyma"))
	shoots := factory.Core().V1beta1().Shoots()
	synced := shoots.Informer().HasSynced
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), synced) {
		return
	}

	resolver := orchestration.NewCachedGardenerRuntimeResolver(shoots.Lister().Shoots("garden-kyma"), demoLister{}, nil)
	resolution, err := resolver.Preview(ctx, orchestration.TargetSpec{
		Include: []orchestration.RuntimeTarget{{Region: "^eu-"}, {Shoot: "c-canaryy"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range resolution.Runtimes {
		fmt.Println("target:", r.ShootName)
	}
	for _, row := range resolution.LeftOut {
		fmt.Println("left out:", row.ShootName, row.Reason)
	}
	fmt.Println("include entries that select nothing:", resolution.Unmatched)
	// Output:
	// target: c-aa11
	// left out: c-bb22 suspended
	// include entries that select nothing: [1]
}

// Refuse targets that cannot be meant before anything is stored.
func ExampleTargetSpec_Validate() {
	targets := orchestration.TargetSpec{
		Include: []orchestration.RuntimeTarget{{Region: "eu-("}, {}},
	}
	fmt.Println(targets.Validate())
	// Output:
	// targets.include[0].region: "eu-(": is not a valid pattern: missing closing ); targets.include[1]: selects by nothing; give at least one field, or "target": "all"
}
