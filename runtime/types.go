package runtime

import (
	"time"

	"github.com/swell-fleet/swell/gqlschema"
)

// State says what a runtime is now, as derived from its operations.
type State string

const (
	// StateSucceeded means that the newest operation of the runtime succeeded.
	StateSucceeded State = "succeeded"
	// StateFailed means that the newest operation is a provisioning, deprovisioning, suspension or unsuspension, and that it failed.
	StateFailed State = "failed"
	// StateError means that the newest operation is an upgrade or an update that failed; the runtime itself still exists and can be repaired.
	StateError State = "error"
	// StateProvisioning means that the runtime is being created, or woken up again after a suspension.
	StateProvisioning State = "provisioning"
	// StateDeprovisioning means that the runtime is being removed, for good or by a suspension.
	StateDeprovisioning State = "deprovisioning"
	// StateDeprovisioned means that the runtime was removed completely.
	StateDeprovisioned State = "deprovisioned"
	// StateDeprovisionIncomplete means that the runtime was removed but that some steps of the removal are left over.
	StateDeprovisionIncomplete State = "deprovisionincomplete"
	// StateUpgrading means that an upgrade of Kyma or of the cluster is in progress.
	StateUpgrading State = "upgrading"
	// StateUpdating means that a change of the runtime's configuration is in progress.
	StateUpdating State = "updating"
	// StateSuspended means that the runtime was suspended: its cluster is gone, its instance is kept.
	StateSuspended State = "suspended"
	// AllState is used in filters only. It brings also the runtimes that a list without a state filter leaves out:
	// suspended, deprovisioned and incompletely deprovisioned ones.
	AllState State = "all"
)

// RuntimeDTO is one managed runtime as GET /runtimes returns it.
type RuntimeDTO struct {
	InstanceID                  string                         `json:"instanceID"`
	RuntimeID                   string                         `json:"runtimeID"`
	GlobalAccountID             string                         `json:"globalAccountID"`
	SubscriptionGlobalAccountID string                         `json:"subscriptionGlobalAccountID"`
	SubAccountID                string                         `json:"subAccountID"`
	ProviderRegion              string                         `json:"region"`
	SubAccountRegion            string                         `json:"subAccountRegion"`
	ShootName                   string                         `json:"shootName"`
	ServiceClassID              string                         `json:"serviceClassID"`
	ServiceClassName            string                         `json:"serviceClassName"`
	ServicePlanID               string                         `json:"servicePlanID"`
	ServicePlanName             string                         `json:"servicePlanName"`
	Provider                    string                         `json:"provider"`
	Status                      RuntimeStatus                  `json:"status"`
	UserID                      string                         `json:"userID"`
	AVSInternalEvaluationID     int64                          `json:"avsInternalEvaluationID"`
	KymaVersion                 string                         `json:"kymaVersion,omitempty"`
	KymaConfig                  *gqlschema.KymaConfigInput     `json:"kymaConfig,omitempty"`
	ClusterConfig               *gqlschema.GardenerConfigInput `json:"clusterConfig,omitempty"`
}

// RuntimeStatus holds the state of a runtime and the operations that it was derived from.
type RuntimeStatus struct {
	CreatedAt        time.Time       `json:"createdAt"`
	ModifiedAt       time.Time       `json:"modifiedAt"`
	ExpiredAt        *time.Time      `json:"expiredAt,omitempty"`
	DeletedAt        *time.Time      `json:"deletedAt,omitempty"`
	State            State           `json:"state"`
	Provisioning     *Operation      `json:"provisioning,omitempty"`
	Deprovisioning   *Operation      `json:"deprovisioning,omitempty"`
	UpgradingKyma    *OperationsData `json:"upgradingKyma,omitempty"`
	UpgradingCluster *OperationsData `json:"upgradingCluster,omitempty"`
	Update           *OperationsData `json:"update,omitempty"`
	Suspension       *OperationsData `json:"suspension,omitempty"`
	Unsuspension     *OperationsData `json:"unsuspension,omitempty"`
}

// OperationType names what an operation does to a runtime.
type OperationType string

const (
	// Provision creates a runtime.
	Provision OperationType = "provision"
	// Deprovision removes a runtime for good.
	Deprovision OperationType = "deprovision"
	// UpgradeKyma changes the Kyma version of a runtime.
	UpgradeKyma OperationType = "kyma upgrade"
	// UpgradeCluster changes the Kubernetes version or the machine image of a runtime.
	UpgradeCluster OperationType = "cluster upgrade"
	// Update changes the configuration of a runtime.
	Update OperationType = "update"
	// Suspension removes the cluster of a runtime and keeps its instance.
	Suspension OperationType = "suspension"
	// Unsuspension creates the cluster of a suspended runtime again.
	Unsuspension OperationType = "unsuspension"
)

// OperationsData lists the operations of one type, newest first.
type OperationsData struct {
	Data       []Operation `json:"data"`
	TotalCount int         `json:"totalCount"`
	Count      int         `json:"count"`
}

// Operation is one change of a runtime: its provisioning, an upgrade, a suspension and so on.
type Operation struct {
	State                        string        `json:"state"`
	Type                         OperationType `json:"type,omitempty"`
	Description                  string        `json:"description"`
	CreatedAt                    time.Time     `json:"createdAt"`
	UpdatedAt                    time.Time     `json:"updatedAt"`
	OperationID                  string        `json:"operationID"`
	OrchestrationID              string        `json:"orchestrationID,omitempty"`
	FinishedStages               []string      `json:"finishedStages"`
	ExecutedButNotCompletedSteps []string      `json:"executedButNotCompletedSteps,omitempty"`
	RuntimeVersion               string        `json:"runtimeVersion"`
}

// RuntimesPage is one page of GET /runtimes.
type RuntimesPage struct {
	// Data holds the runtimes of this page.
	Data []RuntimeDTO `json:"data"`
	// Count is the number of runtimes in Data.
	Count int `json:"count"`
	// TotalCount is the number of runtimes on all pages together.
	TotalCount int `json:"totalCount"`
}

// The names of the query parameters of GET /runtimes. Different ones are joined by AND, repeated ones by OR; values are exact.
const (
	// GlobalAccountIDParam filters by the ID of the global account.
	GlobalAccountIDParam = "account"
	// SubAccountIDParam filters by the ID of the sub-account.
	SubAccountIDParam = "subaccount"
	// InstanceIDParam filters by instance ID.
	InstanceIDParam = "instance_id"
	// RuntimeIDParam filters by runtime ID.
	RuntimeIDParam = "runtime_id"
	// RegionParam filters by the provider's region.
	RegionParam = "region"
	// ShootParam filters by the name of the Shoot.
	ShootParam = "shoot"
	// PlanParam filters by the name of the service plan.
	PlanParam = "plan"
	// StateParam filters by the state of the runtime; see State for its values.
	StateParam = "state"
	// OperationDetailParam says which operations of each runtime are returned; see OperationDetail.
	OperationDetailParam = "op_detail"
	// KymaConfigParam adds the Kyma configuration of each runtime when it is true.
	KymaConfigParam = "kyma_config"
	// ClusterConfigParam adds the cluster configuration of each runtime when it is true.
	ClusterConfigParam = "cluster_config"
	// ExpiredParam returns only expired runtimes when it is true.
	ExpiredParam = "expired"
	// WithoutShootParam returns only runtimes whose runtime ID no Shoot has at present when it is true. It is Swell's own.
	WithoutShootParam = "without_shoot"
)

// OperationDetail says which operations of a runtime a list returns.
type OperationDetail string

const (
	// LastOperation returns the newest operation of each runtime only.
	LastOperation OperationDetail = "last"
	// AllOperation returns all operations of each runtime. It is the default.
	AllOperation OperationDetail = "all"
)

// ListParameters are the filters and the paging of ListRuntimes. The zero value lists every runtime that is not suspended or deprovisioned.
type ListParameters struct {
	// Page is the number of the page that is wanted, from 1 on. A single page is read only when PageSize is set too; with either of them
	// 0, all pages are read one after another.
	Page int
	// PageSize is the number of runtimes a page holds, also while all pages are read. 0 leaves it to the server.
	PageSize int
	// OperationDetail says which operations of each runtime are returned. Empty leaves the choice to the server, which returns all.
	OperationDetail OperationDetail
	// KymaConfig adds the Kyma configuration to each runtime.
	KymaConfig bool
	// ClusterConfig adds the Gardener cluster configuration to each runtime.
	ClusterConfig bool
	// GlobalAccountIDs keeps the runtimes of these global accounts.
	GlobalAccountIDs []string
	// SubAccountIDs keeps the runtimes of these sub-accounts.
	SubAccountIDs []string
	// InstanceIDs keeps the runtimes with these instance IDs.
	InstanceIDs []string
	// RuntimeIDs keeps the runtimes with these runtime IDs.
	RuntimeIDs []string
	// Regions keeps the runtimes in these regions of their provider.
	Regions []string
	// Shoots keeps the runtimes with these Shoot names.
	Shoots []string
	// Plans keeps the runtimes of these service plans, by plan name.
	Plans []string
	// States keeps the runtimes in these states. Without any the server leaves out suspended and deprovisioned runtimes.
	States []State
	// Expired keeps expired runtimes only.
	Expired bool
	// WithoutShoot keeps the runtimes whose runtime ID no Shoot has at present. It is Swell's own: other brokers do not know it and do not filter.
	WithoutShoot bool
	// Events is for callers who show tracing events beside the runtimes. It holds the level they ask for ("all", "info" or "error") and
	// never changes the query of GET /runtimes: the events themselves are read from GET /events.
	Events string
}
