package runtime_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/runtime"
)

// Programs are written against this API. What follows is a copy of it: as long as this file compiles and its tests pass, those programs
// do too. It may grow; nothing in it may change.

// onlyPublished has the methods of the published interface and no more, so a method that is added to the interface does not compile.
type onlyPublished struct{}

func (onlyPublished) ListRuntimes(runtime.ListParameters) (runtime.RuntimesPage, error) {
	return runtime.RuntimesPage{}, nil
}

// anyText is assignable from untyped constants only.
type anyText string

var (
	_ func(url string, httpClient *http.Client) runtime.Client = runtime.NewClient
	_ func(runtime.RuntimeDTO) runtime.Operation               = runtime.RuntimeDTO.LastOperation

	_ runtime.Client = onlyPublished{}
	_ interface {
		ListRuntimes(params runtime.ListParameters) (runtime.RuntimesPage, error)
	} = runtime.Client(nil)
)

// Values of the exact types of the fields below.
var (
	bigNumber                  int64
	flag                       bool
	gardenerConfigInputPointer *gqlschema.GardenerConfigInput
	kymaConfigInputPointer     *gqlschema.KymaConfigInput
	moment                     time.Time
	number                     int
	operationDetailValue       runtime.OperationDetail
	operationList              []runtime.Operation
	operationPointer           *runtime.Operation
	operationTypeValue         runtime.OperationType
	operationsDataPointer      *runtime.OperationsData
	optionalMoment             *time.Time
	runtimeDTOList             []runtime.RuntimeDTO
	runtimeStatusValue         runtime.RuntimeStatus
	stateList                  []runtime.State
	stateValue                 runtime.State
	text                       string
	texts                      []string
)

var _ = runtime.ListParameters{
	Page:             number,
	PageSize:         number,
	OperationDetail:  operationDetailValue,
	KymaConfig:       flag,
	ClusterConfig:    flag,
	GlobalAccountIDs: texts,
	SubAccountIDs:    texts,
	InstanceIDs:      texts,
	RuntimeIDs:       texts,
	Regions:          texts,
	Shoots:           texts,
	Plans:            texts,
	States:           stateList,
	Expired:          flag,
	Events:           text,
}

var _ = runtime.Operation{
	State:                        text,
	Type:                         operationTypeValue,
	Description:                  text,
	CreatedAt:                    moment,
	UpdatedAt:                    moment,
	OperationID:                  text,
	OrchestrationID:              text,
	FinishedStages:               texts,
	ExecutedButNotCompletedSteps: texts,
	RuntimeVersion:               text,
}

var _ = runtime.OperationsData{
	Data:       operationList,
	TotalCount: number,
	Count:      number,
}

var _ = runtime.RuntimeDTO{
	InstanceID:                  text,
	RuntimeID:                   text,
	GlobalAccountID:             text,
	SubscriptionGlobalAccountID: text,
	SubAccountID:                text,
	ProviderRegion:              text,
	SubAccountRegion:            text,
	ShootName:                   text,
	ServiceClassID:              text,
	ServiceClassName:            text,
	ServicePlanID:               text,
	ServicePlanName:             text,
	Provider:                    text,
	Status:                      runtimeStatusValue,
	UserID:                      text,
	AVSInternalEvaluationID:     bigNumber,
	KymaVersion:                 text,
	KymaConfig:                  kymaConfigInputPointer,
	ClusterConfig:               gardenerConfigInputPointer,
}

var _ = runtime.RuntimeStatus{
	CreatedAt:        moment,
	ModifiedAt:       moment,
	ExpiredAt:        optionalMoment,
	DeletedAt:        optionalMoment,
	State:            stateValue,
	Provisioning:     operationPointer,
	Deprovisioning:   operationPointer,
	UpgradingKyma:    operationsDataPointer,
	UpgradingCluster: operationsDataPointer,
	Update:           operationsDataPointer,
	Suspension:       operationsDataPointer,
	Unsuspension:     operationsDataPointer,
}

var _ = runtime.RuntimesPage{
	Data:       runtimeDTOList,
	Count:      number,
	TotalCount: number,
}

// fields lists every field with its type and its tag.
const fields = `
ListParameters
	Page int
	PageSize int
	OperationDetail runtime.OperationDetail
	KymaConfig bool
	ClusterConfig bool
	GlobalAccountIDs []string
	SubAccountIDs []string
	InstanceIDs []string
	RuntimeIDs []string
	Regions []string
	Shoots []string
	Plans []string
	States []runtime.State
	Expired bool
	Events string
Operation
	State string json:"state"
	Type runtime.OperationType json:"type,omitempty"
	Description string json:"description"
	CreatedAt time.Time json:"createdAt"
	UpdatedAt time.Time json:"updatedAt"
	OperationID string json:"operationID"
	OrchestrationID string json:"orchestrationID,omitempty"
	FinishedStages []string json:"finishedStages"
	ExecutedButNotCompletedSteps []string json:"executedButNotCompletedSteps,omitempty"
	RuntimeVersion string json:"runtimeVersion"
OperationsData
	Data []runtime.Operation json:"data"
	TotalCount int json:"totalCount"
	Count int json:"count"
RuntimeDTO
	InstanceID string json:"instanceID"
	RuntimeID string json:"runtimeID"
	GlobalAccountID string json:"globalAccountID"
	SubscriptionGlobalAccountID string json:"subscriptionGlobalAccountID"
	SubAccountID string json:"subAccountID"
	ProviderRegion string json:"region"
	SubAccountRegion string json:"subAccountRegion"
	ShootName string json:"shootName"
	ServiceClassID string json:"serviceClassID"
	ServiceClassName string json:"serviceClassName"
	ServicePlanID string json:"servicePlanID"
	ServicePlanName string json:"servicePlanName"
	Provider string json:"provider"
	Status runtime.RuntimeStatus json:"status"
	UserID string json:"userID"
	AVSInternalEvaluationID int64 json:"avsInternalEvaluationID"
	KymaVersion string json:"kymaVersion,omitempty"
	KymaConfig *gqlschema.KymaConfigInput json:"kymaConfig,omitempty"
	ClusterConfig *gqlschema.GardenerConfigInput json:"clusterConfig,omitempty"
RuntimeStatus
	CreatedAt time.Time json:"createdAt"
	ModifiedAt time.Time json:"modifiedAt"
	ExpiredAt *time.Time json:"expiredAt,omitempty"
	DeletedAt *time.Time json:"deletedAt,omitempty"
	State runtime.State json:"state"
	Provisioning *runtime.Operation json:"provisioning,omitempty"
	Deprovisioning *runtime.Operation json:"deprovisioning,omitempty"
	UpgradingKyma *runtime.OperationsData json:"upgradingKyma,omitempty"
	UpgradingCluster *runtime.OperationsData json:"upgradingCluster,omitempty"
	Update *runtime.OperationsData json:"update,omitempty"
	Suspension *runtime.OperationsData json:"suspension,omitempty"
	Unsuspension *runtime.OperationsData json:"unsuspension,omitempty"
RuntimesPage
	Data []runtime.RuntimeDTO json:"data"
	Count int json:"count"
	TotalCount int json:"totalCount"
`

func TestConstantsArePinned(t *testing.T) {
	t.Parallel()
	for got, want := range map[anyText]string{
		runtime.GlobalAccountIDParam: "account",
		runtime.SubAccountIDParam:    "subaccount",
		runtime.InstanceIDParam:      "instance_id",
		runtime.RuntimeIDParam:       "runtime_id",
		runtime.RegionParam:          "region",
		runtime.ShootParam:           "shoot",
		runtime.PlanParam:            "plan",
		runtime.StateParam:           "state",
		runtime.OperationDetailParam: "op_detail",
		runtime.KymaConfigParam:      "kyma_config",
		runtime.ClusterConfigParam:   "cluster_config",
		runtime.ExpiredParam:         "expired",
		runtime.WithoutShootParam:    "without_shoot",
	} {
		require.Equal(t, want, string(got))
	}
	require.Equal(t, []runtime.State{
		"succeeded",
		"failed",
		"error",
		"provisioning",
		"deprovisioning",
		"deprovisioned",
		"deprovisionincomplete",
		"upgrading",
		"updating",
		"suspended",
		"all",
	}, []runtime.State{
		runtime.StateSucceeded,
		runtime.StateFailed,
		runtime.StateError,
		runtime.StateProvisioning,
		runtime.StateDeprovisioning,
		runtime.StateDeprovisioned,
		runtime.StateDeprovisionIncomplete,
		runtime.StateUpgrading,
		runtime.StateUpdating,
		runtime.StateSuspended,
		runtime.AllState,
	})
	require.Equal(t, []runtime.OperationType{
		"provision",
		"deprovision",
		"kyma upgrade",
		"cluster upgrade",
		"update",
		"suspension",
		"unsuspension",
	}, []runtime.OperationType{
		runtime.Provision,
		runtime.Deprovision,
		runtime.UpgradeKyma,
		runtime.UpgradeCluster,
		runtime.Update,
		runtime.Suspension,
		runtime.Unsuspension,
	})
	require.Equal(t, []runtime.OperationDetail{
		"last",
		"all",
	}, []runtime.OperationDetail{
		runtime.LastOperation,
		runtime.AllOperation,
	})
}

func TestFieldsArePinned(t *testing.T) {
	t.Parallel()
	types := map[string]reflect.Type{
		"ListParameters": reflect.TypeFor[runtime.ListParameters](),
		"Operation":      reflect.TypeFor[runtime.Operation](),
		"OperationsData": reflect.TypeFor[runtime.OperationsData](),
		"RuntimeDTO":     reflect.TypeFor[runtime.RuntimeDTO](),
		"RuntimeStatus":  reflect.TypeFor[runtime.RuntimeStatus](),
		"RuntimesPage":   reflect.TypeFor[runtime.RuntimesPage](),
	}
	var current reflect.Type
	pinned := 0
	for line := range strings.Lines(strings.TrimSpace(fields)) {
		words := strings.Fields(line)
		if len(words) == 1 {
			current = types[words[0]]
			require.NotNil(t, current, words[0])
			continue
		}
		field, ok := current.FieldByName(words[0])
		require.True(t, ok, "%s.%s", current, words[0])
		require.Equal(t, words[1], field.Type.String(), "%s.%s", current, words[0])
		require.Equal(t, strings.Join(words[2:], " "), string(field.Tag), "%s.%s", current, words[0])
		pinned++
	}
	require.Equal(t, 62, pinned)
}
