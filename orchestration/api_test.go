package orchestration_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	gardenerclient "github.com/gardener/gardener/pkg/client/core/clientset/versioned/typed/core/v1beta1"
	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// This file holds the published API once more, as its users compile against it. What is listed here must never change; what a type has
// beyond the list has to be optional.

// The interfaces, in both directions: a method more would break those who implement them, a method less those who call it.
type (
	publishedClient interface {
		ListOrchestrations(params orchestration.ListParameters) (orchestration.StatusResponseList, error)
		GetOrchestration(orchestrationID string) (orchestration.StatusResponse, error)
		ListOperations(orchestrationID string, params orchestration.ListParameters) (orchestration.OperationResponseList, error)
		GetOperation(orchestrationID, operationID string) (orchestration.OperationDetailResponse, error)
		UpgradeKyma(params orchestration.Parameters) (orchestration.UpgradeResponse, error)
		CancelOrchestration(orchestrationID string) error
	}
	publishedLister interface {
		ListAllRuntimes() ([]runtime.RuntimeDTO, error)
	}
	publishedResolver interface {
		Resolve(targets orchestration.TargetSpec) ([]orchestration.Runtime, error)
	}
	publishedStrategy interface {
		Execute(operations []orchestration.RuntimeOperation, strategySpec orchestration.StrategySpec) (string, error)
		Wait(executionID string)
		Cancel(executionID string)
	}
)

var (
	_ publishedClient                 = orchestration.Client(nil)
	_ orchestration.Client            = publishedClient(nil)
	_ publishedLister                 = orchestration.RuntimeLister(nil)
	_ orchestration.RuntimeLister     = publishedLister(nil)
	_ publishedResolver               = orchestration.RuntimeResolver(nil)
	_ orchestration.RuntimeResolver   = publishedResolver(nil)
	_ publishedStrategy               = orchestration.Strategy(nil)
	_ orchestration.Strategy          = publishedStrategy(nil)
	_ orchestration.RuntimeLister     = (*orchestration.RuntimeListerMock)(nil)
	_ orchestration.RuntimeResolver   = (*orchestration.GardenerRuntimeResolver)(nil)
	_ orchestration.Client            = orchestration.ExtendedClient(nil)
	_ orchestration.OperationResponse = orchestration.OperationDetailResponse{}.OperationResponse
	_ orchestration.Runtime           = orchestration.RuntimeOperation{}.Runtime
)

// The functions and methods.
var (
	_ func(context.Context, string, oauth2.TokenSource) orchestration.Client                                                                    = orchestration.NewClient
	_ func(gardenerclient.CoreV1beta1Interface, string, orchestration.RuntimeLister, logrus.FieldLogger) *orchestration.GardenerRuntimeResolver = orchestration.NewGardenerRuntimeResolver
	_ func(*orchestration.GardenerRuntimeResolver, orchestration.TargetSpec) ([]orchestration.Runtime, error)                                   = (*orchestration.GardenerRuntimeResolver).Resolve
	_ func(*orchestration.RuntimeListerMock) ([]runtime.RuntimeDTO, error)                                                                      = (*orchestration.RuntimeListerMock).ListAllRuntimes
	_ func(context.Context, string, oauth2.TokenSource) orchestration.ExtendedClient                                                            = orchestration.NewExtendedClient
	_ func(context.Context, string, *http.Client) orchestration.ExtendedClient                                                                  = orchestration.NewExtendedClientWithHTTP
	_ func(orchestration.ExtendedClient, orchestration.Parameters) (orchestration.UpgradeResponse, error)                                       = orchestration.ExtendedClient.UpgradeCluster
	_ func(orchestration.ExtendedClient, string, []string, bool) (orchestration.RetryResponse, error)                                           = orchestration.ExtendedClient.RetryOrchestration
	_ func(orchestration.ExtendedClient, string) (orchestration.ForgetResponse, error)                                                          = orchestration.ExtendedClient.ForgetRuntime
	_ func(orchestration.ExtendedClient, orchestration.EventParameters) (orchestration.EventList, error)                                        = orchestration.ExtendedClient.ListEvents
	_ func(orchestration.ExtendedClient, string, orchestration.EventParameters) (orchestration.EventList, error)                                = orchestration.ExtendedClient.ListOrchestrationEvents
	_ func(orchestration.ExtendedClient) (orchestration.Identity, error)                                                                        = orchestration.ExtendedClient.WhoAmI
	_ func(orchestration.ExtendedClient) (orchestration.LoginList, error)                                                                       = orchestration.ExtendedClient.ListLogins
)

// The constants, with their types: those of states and words are untyped, so that they fit any type of string.
func TestPublishedConstants(t *testing.T) {
	t.Parallel()
	type word string
	for value, constant := range map[word]word{
		"pending": orchestration.Pending, "in progress": orchestration.InProgress, "canceling": orchestration.Canceling,
		"canceled": orchestration.Canceled, "succeeded": orchestration.Succeeded, "failed": orchestration.Failed,
		"state": orchestration.StateParam, "all": orchestration.TargetAll, "info": orchestration.EventLevelInfo, "error": orchestration.EventLevelError,
	} {
		require.Equal(t, value, constant)
	}
	require.Equal(t, "all", orchestration.EventLevelAll)
	var (
		kyma      orchestration.Type         = orchestration.UpgradeKymaOrchestration
		cluster   orchestration.Type         = orchestration.UpgradeClusterOrchestration
		immediate orchestration.ScheduleType = orchestration.Immediate
		window    orchestration.ScheduleType = orchestration.MaintenanceWindow
		parallel  orchestration.StrategyType = orchestration.ParallelStrategy
	)
	require.Equal(t, []string{"upgradeKyma", "upgradeCluster", "immediate", "maintenanceWindow", "parallel"},
		[]string{string(kyma), string(cluster), string(immediate), string(window), string(parallel)})
	for _, kind := range []reflect.Kind{
		reflect.TypeFor[orchestration.Type]().Kind(), reflect.TypeFor[orchestration.ScheduleType]().Kind(), reflect.TypeFor[orchestration.StrategyType]().Kind(),
	} {
		require.Equal(t, reflect.String, kind)
	}
}

// field is a published field: its name, its type and its JSON tag, "embedded" in front of the name of an embedded one.
type field struct {
	name string
	kind reflect.Type
	tag  string
}

func text(name, tag string) field { return field{name, reflect.TypeFor[string](), tag} }

func of[T any](name, tag string) field { return field{name, reflect.TypeFor[T](), tag} }

func TestPublishedStructs(t *testing.T) {
	t.Parallel()
	published := map[reflect.Type][]field{
		reflect.TypeFor[orchestration.Event](): {
			text("ID", "id"), text("Level", "level"), text("InstanceID", "instanceID,omitempty"), text("OperationID", "operationID,omitempty"),
			text("Message", "message"), of[time.Time]("CreatedAt", "createdAt"), text("OrchestrationID", "orchestrationID,omitempty"),
			text("RuntimeID", "runtimeID,omitempty"), text("ShootName", "shootName,omitempty"), text("Kind", "kind"),
			text("From", "from,omitempty"), text("To", "to,omitempty"), text("User", "user,omitempty"), of[[]string]("Roles", "roles,omitempty"),
			text("RequestID", "requestID,omitempty"), text("RemoteAddr", "remoteAddr,omitempty"),
		},
		reflect.TypeFor[orchestration.EventList](): {
			of[[]orchestration.Event]("Data", "data"), of[int]("Count", "count"), of[int]("TotalCount", "totalCount"),
		},
		reflect.TypeFor[orchestration.EventParameters](): {
			of[int]("Page", ""), of[int]("PageSize", ""), text("Level", ""), of[[]string]("InstanceIDs", ""), text("OperationID", ""), text("Before", ""),
		},
		reflect.TypeFor[orchestration.ListParameters](): {
			of[int]("Page", ""), of[int]("PageSize", ""), of[[]string]("States", ""),
		},
		reflect.TypeFor[orchestration.OperationDetailResponse](): {
			of[orchestration.OperationResponse]("embedded OperationResponse", ""),
			of[gqlschema.KymaConfigInput]("KymaConfig", "kymaConfig"), of[gqlschema.GardenerConfigInput]("ClusterConfig", "clusterConfig"),
		},
		reflect.TypeFor[orchestration.OperationResponse](): {
			text("OperationID", "operationID"), text("RuntimeID", "runtimeID"), text("GlobalAccountID", "globalAccountID"),
			text("SubAccountID", "subAccountID"), text("OrchestrationID", "orchestrationID"), text("ServicePlanID", "servicePlanID"),
			text("ServicePlanName", "servicePlanName"), of[bool]("DryRun", "dryRun"), text("ShootName", "shootName"),
			of[time.Time]("MaintenanceWindowBegin", "maintenanceWindowBegin"), of[time.Time]("MaintenanceWindowEnd", "maintenanceWindowEnd"),
			text("State", "state"), text("Description", "description"),
		},
		reflect.TypeFor[orchestration.OperationResponseList](): {
			of[[]orchestration.OperationResponse]("Data", "data"), of[int]("Count", "count"), of[int]("TotalCount", "totalCount"),
		},
		reflect.TypeFor[orchestration.ParallelStrategySpec](): {of[int]("Workers", "workers")},
		reflect.TypeFor[orchestration.Parameters](): {
			text("Version", "version"), of[orchestration.TargetSpec]("Targets", "targets"),
			of[orchestration.StrategySpec]("Strategy", "strategy,omitempty"), of[bool]("DryRun", "dryRun,omitempty"),
		},
		reflect.TypeFor[orchestration.Runtime](): {
			text("InstanceID", "instanceId,omitempty"), text("RuntimeID", "runtimeId"), text("GlobalAccountID", "globalAccountId"),
			text("SubAccountID", "subaccountId"), text("ShootName", "shootName"),
			of[time.Time]("MaintenanceWindowBegin", "maintenanceWindowBegin"), of[time.Time]("MaintenanceWindowEnd", "maintenanceWindowEnd"),
		},
		reflect.TypeFor[orchestration.RuntimeListerMock](): {of[mock.Mock]("embedded Mock", "")},
		reflect.TypeFor[orchestration.RuntimeOperation](): {
			of[orchestration.Runtime]("embedded Runtime", ""), text("ID", "-"), of[bool]("DryRun", "dryRun"),
		},
		reflect.TypeFor[orchestration.RuntimeTarget](): {
			text("Target", "target,omitempty"), text("GlobalAccount", "globalAccount,omitempty"), text("SubAccount", "subAccount,omitempty"),
			text("Region", "region,omitempty"), text("RuntimeID", "runtimeID,omitempty"), text("PlanName", "planName,omitempty"),
			text("Shoot", "shoot,omitempty"),
		},
		reflect.TypeFor[orchestration.StatusResponse](): {
			text("OrchestrationID", "orchestrationID"), of[orchestration.Type]("Type", "type"), text("State", "state"), text("Description", "description"),
			of[time.Time]("CreatedAt", "createdAt"), of[time.Time]("UpdatedAt", "updatedAt"),
			of[orchestration.Parameters]("Parameters", "parameters"), of[map[string]int]("OperationStats", "operationStats,omitempty"),
		},
		reflect.TypeFor[orchestration.StatusResponseList](): {
			of[[]orchestration.StatusResponse]("Data", "data"), of[int]("Count", "count"), of[int]("TotalCount", "totalCount"),
		},
		reflect.TypeFor[orchestration.StrategySpec](): {
			of[orchestration.StrategyType]("Type", "type"), of[orchestration.ScheduleType]("Schedule", "schedule,omitempty"),
			of[orchestration.ParallelStrategySpec]("Parallel", "parallel,omitempty"),
		},
		reflect.TypeFor[orchestration.TargetSpec](): {
			of[[]orchestration.RuntimeTarget]("Include", "include"), of[[]orchestration.RuntimeTarget]("Exclude", "exclude,omitempty"),
		},
		reflect.TypeFor[orchestration.UpgradeResponse](): {text("OrchestrationID", "orchestrationID")},
	}
	for structure, fields := range published {
		t.Run(structure.Name(), func(t *testing.T) {
			t.Parallel()
			require.GreaterOrEqual(t, structure.NumField(), len(fields))
			for i, want := range fields {
				got := structure.Field(i)
				name, embedded := strings.CutPrefix(want.name, "embedded ")
				require.Equal(t, name, got.Name, "the published fields come first and in their order")
				require.Equal(t, embedded, got.Anonymous, got.Name)
				require.Equal(t, want.kind, got.Type, got.Name)
				require.Equal(t, want.tag, got.Tag.Get("json"), got.Name)
			}
			for i := len(fields); i < structure.NumField(); i++ {
				added := structure.Field(i)
				require.True(t, strings.HasSuffix(added.Tag.Get("json"), ",omitempty"), "%s was added and is not optional", added.Name)
				require.NotEqual(t, reflect.TypeFor[time.Time](), added.Type, "%s was added and is never empty", added.Name)
			}
			for _, method := range []string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"} {
				_, has := reflect.PointerTo(structure).MethodByName(method)
				require.False(t, has, "%s would be promoted to the types that embed %s", method, structure.Name())
			}
		})
	}
}

// Nobody can make a resolver but its constructors.
func TestResolverHasNoExportedFields(t *testing.T) {
	t.Parallel()
	structure := reflect.TypeFor[orchestration.GardenerRuntimeResolver]()
	for i := range structure.NumField() {
		require.False(t, structure.Field(i).IsExported())
	}
}

// The mock answers what it was told to, as others that testify's generator made.
func TestRuntimeListerMock(t *testing.T) {
	t.Parallel()
	lister := &orchestration.RuntimeListerMock{}
	lister.On("ListAllRuntimes").Return([]runtime.RuntimeDTO{provisioned("rt-1")}, nil).Once()
	lister.Test(t)
	runtimes, err := orchestration.NewGardenerRuntimeResolver(gardener(newShoot("c-aa", "rt-1")), gardenNamespace, lister, nil).Resolve(all())
	require.NoError(t, err)
	require.Equal(t, []string{"rt-1"}, runtimeIDs(runtimes))
	lister.AssertExpectations(t)

	strict := orchestration.NewRuntimeListerMock(t)
	strict.EXPECT().ListAllRuntimes().Return(nil, nil)
	known, err := strict.ListAllRuntimes()
	require.NoError(t, err)
	require.Empty(t, known)
}
