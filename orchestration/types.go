package orchestration

import (
	"time"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/runtime"
)

// Type says what an orchestration upgrades.
type Type string

const (
	// UpgradeKymaOrchestration upgrades Kyma in each runtime.
	UpgradeKymaOrchestration Type = "upgradeKyma"
	// UpgradeClusterOrchestration upgrades the Kubernetes cluster of each runtime.
	UpgradeClusterOrchestration Type = "upgradeCluster"
)

// The states of orchestrations and operations.
const (
	// Pending means accepted and not started.
	Pending = "pending"
	// InProgress means started and not ended.
	InProgress = "in progress"
	// Canceling means that no further operation starts while those in progress run to their end.
	Canceling = "canceling"
	// Canceled means ended by a cancel, or never started because the runtime went away or has no usable window.
	Canceled = "canceled"
	// Succeeded means ended with the wanted result.
	Succeeded = "succeeded"
	// Failed means ended without the wanted result.
	Failed = "failed"
)

// StateParam is the query parameter that filters lists of orchestrations and operations by state.
const StateParam = "state"

// Parameters are the body of a request to upgrade, and what the server tells about it later.
type Parameters struct {
	// Version is what to upgrade to: a Kubernetes version for a cluster, a Kyma version or channel for Kyma. Empty leaves the choice
	// to the server.
	Version string `json:"version"`
	// Targets selects the runtimes.
	Targets TargetSpec `json:"targets"`
	// Strategy says when and how many at once.
	Strategy StrategySpec `json:"strategy,omitempty"`
	// DryRun goes through all steps without changing a runtime.
	DryRun bool `json:"dryRun,omitempty"`
	// Kyma holds the target of an upgrade of Kyma in the form of newer servers. Setting it and Version to different values is refused.
	Kyma *KymaParameters `json:"kyma,omitempty"`
	// Kubernetes holds the target of an upgrade of the cluster in the form of newer servers. Setting its version and Version to
	// different values is refused.
	Kubernetes *KubernetesParameters `json:"kubernetes,omitempty"`
}

// KymaParameters say what to upgrade Kyma to.
type KymaParameters struct {
	// Version is a Kyma version or a channel, depending on how the server upgrades Kyma.
	Version string `json:"version,omitempty"`
}

// KubernetesParameters say what to upgrade a cluster to. An empty field leaves that part as it is or to the server.
type KubernetesParameters struct {
	// KubernetesVersion is a full version such as "1.33.4".
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// MachineImage is the name of the operating system image of every worker pool.
	MachineImage string `json:"machineImage,omitempty"`
	// MachineImageVersion is the version of that image.
	MachineImageVersion string `json:"machineImageVersion,omitempty"`
}

// UpgradeResponse is the answer to a request to upgrade or to cancel.
type UpgradeResponse struct {
	OrchestrationID string `json:"orchestrationID"`
}

// StatusResponse describes one orchestration.
type StatusResponse struct {
	OrchestrationID string     `json:"orchestrationID"`
	Type            Type       `json:"type"`
	State           string     `json:"state"`
	Description     string     `json:"description"`
	CreatedAt       time.Time  `json:"createdAt"`
	UpdatedAt       time.Time  `json:"updatedAt"`
	Parameters      Parameters `json:"parameters"`
	// OperationStats counts the runtimes of the orchestration by the state of their newest operation.
	OperationStats map[string]int `json:"operationStats,omitempty"`
	// StartsAt is the time before which the orchestration does not start; nil when it was not deferred.
	StartsAt *time.Time `json:"startsAt,omitempty"`
	// CreatedBy is the user who asked for the orchestration; empty when the server does not tell.
	CreatedBy string `json:"createdBy,omitempty"`
	// CanceledBy is the user who asked last to cancel it, of one that is canceling or canceled. Lists leave it empty.
	CanceledBy string `json:"canceledBy,omitempty"`
}

// StatusResponseList is one page of orchestrations, newest first.
type StatusResponseList struct {
	Data       []StatusResponse `json:"data"`
	Count      int              `json:"count"`
	TotalCount int              `json:"totalCount"`
}

// OperationResponse describes the part of an orchestration that concerns one runtime.
type OperationResponse struct {
	OperationID     string `json:"operationID"`
	RuntimeID       string `json:"runtimeID"`
	GlobalAccountID string `json:"globalAccountID"`
	SubAccountID    string `json:"subAccountID"`
	OrchestrationID string `json:"orchestrationID"`
	ServicePlanID   string `json:"servicePlanID"`
	ServicePlanName string `json:"servicePlanName"`
	DryRun          bool   `json:"dryRun"`
	ShootName       string `json:"shootName"`
	// MaintenanceWindowBegin is the begin of the window that the operation waits for or ran in; the zero time when it needs none.
	MaintenanceWindowBegin time.Time `json:"maintenanceWindowBegin"`
	// MaintenanceWindowEnd is the end of that window; the zero time when the operation needs none.
	MaintenanceWindowEnd time.Time `json:"maintenanceWindowEnd"`
	State                string    `json:"state"`
	Description          string    `json:"description"`

	// InstanceID identifies the runtime's service instance.
	InstanceID string `json:"instanceID,omitempty"`
	// CreatedAt is when the operation was recorded.
	CreatedAt *time.Time `json:"createdAt,omitempty"`
	// StartedAt is when the operation was put in progress for the first time; nil while it waits.
	StartedAt *time.Time `json:"startedAt,omitempty"`
	// FinishedAt is when the operation ended; nil before that.
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	// WaitReason says why a pending operation does not run yet; empty otherwise.
	WaitReason WaitReason `json:"waitReason,omitempty"`
	// WaitUntil is when the reason to wait ends, where that is known.
	WaitUntil *time.Time `json:"waitUntil,omitempty"`
}

// WaitReason says why an operation does not run yet.
type WaitReason string

const (
	// WaitWorkerLimit means that as many operations as the orchestration has workers are in progress.
	WaitWorkerLimit WaitReason = "worker_limit"
	// WaitWindow means that the maintenance window of the runtime is not open.
	WaitWindow WaitReason = "window"
	// WaitRuntimeBusy means that another operation changes the same runtime.
	WaitRuntimeBusy WaitReason = "runtime_busy"
	// WaitNotBefore means that the orchestration or the operation was deferred to a later time.
	WaitNotBefore WaitReason = "not_before"
	// WaitBackendUnavailable means that the backend that would carry the operation out does not answer.
	WaitBackendUnavailable WaitReason = "backend_unavailable"
)

// OperationResponseList is one page of operations, newest first.
type OperationResponseList struct {
	Data       []OperationResponse `json:"data"`
	Count      int                 `json:"count"`
	TotalCount int                 `json:"totalCount"`
}

// OperationDetailResponse is an operation with the configuration that it applies.
type OperationDetailResponse struct {
	OperationResponse

	KymaConfig    gqlschema.KymaConfigInput     `json:"kymaConfig"`
	ClusterConfig gqlschema.GardenerConfigInput `json:"clusterConfig"`
}

// TargetAll is the only value of RuntimeTarget.Target: every runtime that was provisioned and is not being removed.
const TargetAll = "all"

// RuntimeTarget is one entry of a selector. All its fields that are set have to match (AND).
// Patterns are unanchored RE2 expressions; the other fields are exact values.
type RuntimeTarget struct {
	// Target may be "all" and nothing else.
	Target string `json:"target,omitempty"`
	// GlobalAccount is a pattern for the ID of the global account.
	GlobalAccount string `json:"globalAccount,omitempty"`
	// SubAccount is a pattern for the ID of the sub-account.
	SubAccount string `json:"subAccount,omitempty"`
	// Region is a pattern for the region of the Shoot, e.g. "europe|eu-".
	Region string `json:"region,omitempty"`
	// RuntimeID is the exact ID of one runtime.
	RuntimeID string `json:"runtimeID,omitempty"`
	// PlanName is the exact name of a service plan.
	PlanName string `json:"planName,omitempty"`
	// Shoot is the exact name of one Shoot.
	Shoot string `json:"shoot,omitempty"`
	// InstanceID is the exact ID of one service instance.
	InstanceID string `json:"instanceID,omitempty"`
}

// TargetSpec selects runtimes: those that an entry of Include matches and no entry of Exclude does.
type TargetSpec struct {
	Include []RuntimeTarget `json:"include"`
	Exclude []RuntimeTarget `json:"exclude,omitempty"`
}

// StrategyType names how operations are spread over time.
type StrategyType string

// ParallelStrategy runs a number of operations at the same time.
const ParallelStrategy StrategyType = "parallel"

// ScheduleType names when operations may start.
type ScheduleType string

const (
	// Immediate starts operations as soon as a worker is free.
	Immediate ScheduleType = "immediate"
	// MaintenanceWindow starts each operation inside the maintenance window of its runtime only.
	MaintenanceWindow ScheduleType = "maintenanceWindow"
)

// ParallelStrategySpec configures the parallel strategy.
type ParallelStrategySpec struct {
	// Workers is the number of runtimes that are changed at the same time. 0 means 1.
	Workers int `json:"workers"`
}

// StrategySpec says when operations start and how many run at once.
type StrategySpec struct {
	Type     StrategyType         `json:"type"`
	Schedule ScheduleType         `json:"schedule,omitempty"`
	Parallel ParallelStrategySpec `json:"parallel,omitempty"`
	// MaintenanceWindow set to true means the same as Schedule set to MaintenanceWindow.
	MaintenanceWindow bool `json:"maintenanceWindow,omitempty"`
	// ScheduleTime is the point in time before which nothing starts; nil means at once, and so does the zero time that older programs send.
	ScheduleTime *time.Time `json:"scheduleTime,omitempty"`
}

// Runtime is what an orchestration has to know of a runtime.
type Runtime struct {
	InstanceID      string `json:"instanceId,omitempty"`
	RuntimeID       string `json:"runtimeId"`
	GlobalAccountID string `json:"globalAccountId"`
	SubAccountID    string `json:"subaccountId"`
	// ShootName is the name of the Shoot.
	ShootName string `json:"shootName"`
	// MaintenanceWindowBegin is the begin of the Shoot's maintenance window: a resolved point in time, or, straight from the resolver,
	// a time of day in the year 0 and in the window's own offset ("040000+0100" parsed). Zero when the Shoot has no usable window.
	MaintenanceWindowBegin time.Time `json:"maintenanceWindowBegin"`
	// MaintenanceWindowEnd is the end of that window, in the same form.
	MaintenanceWindowEnd time.Time `json:"maintenanceWindowEnd"`
	// MaintenanceDays lists the weekdays on which a window may begin, as English names ("Mon" or "monday", in any letter case).
	// Empty means every day.
	MaintenanceDays []string `json:"maintenanceDays,omitempty"`
}

// RuntimeOperation is an operation on a runtime as a Strategy executes it.
type RuntimeOperation struct {
	Runtime `json:""`
	ID      string `json:"-"`
	DryRun  bool   `json:"dryRun"`
}

// RuntimeResolver turns targets into a list of unique runtimes.
type RuntimeResolver interface {
	Resolve(targets TargetSpec) ([]Runtime, error)
}

// RuntimeLister brings all known runtimes with their operations.
type RuntimeLister interface {
	ListAllRuntimes() ([]runtime.RuntimeDTO, error)
}

// Strategy spreads the execution of operations over time.
type Strategy interface {
	// Execute starts to execute the operations as the specification says and returns at once, with an ID for Wait and Cancel.
	Execute(operations []RuntimeOperation, strategySpec StrategySpec) (string, error)
	// Wait returns when the execution with that ID has ended.
	Wait(executionID string)
	// Cancel lets no further operation of that execution begin.
	Cancel(executionID string)
}

// ListParameters are the filters and the paging of lists of orchestrations and operations.
type ListParameters struct {
	// Page is the number of the page that is wanted, from 1 on. 0 means all pages, one after another.
	Page int
	// PageSize is the number of rows a page holds. 0 leaves the choice to the server.
	PageSize int
	// States keeps the rows in these states; empty keeps all.
	States []string
}
