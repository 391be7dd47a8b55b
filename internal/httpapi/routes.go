package httpapi

import (
	"net/http"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// route is one row of the table that everything about the API is taken from.
type route struct {
	// id is the operationId of the OpenAPI document.
	id      string
	method  string
	pattern string
	// role is what the caller needs; RoleNone means that nobody is asked who they are, RoleAny that a login is enough.
	role    Role
	summary string
	about   string
	query   []parameter
	// body says what the route reads; nil means that a body is not looked at.
	body *bodySpec
	// keyed routes take an idempotency key.
	keyed bool
	// status and answer are what success looks like; a nil answer is text of the media type.
	status int
	answer any
	media  string
	// errors are the statuses of the problems that the route may answer, besides those that every route has.
	errors []int
	// unlimited routes do not wait for a place: they must answer when the server is busy.
	unlimited bool
	// probe routes are unlimited ones that no limit of requests refuses: what watches over the server must not take it for dead because somebody at
	// the same address sends too much.
	probe bool

	// handle carries the request out; raw does so instead where the route writes its answer itself.
	handle func(*api, *call) (answer, error)
	raw    func(*api, *call) error
}

// parameter is a query parameter.
type parameter struct {
	name     string
	kind     paramKind
	repeated bool
	words    []string
	about    string
	// pattern is the regular expression that a text has to match; empty means that any will do.
	pattern string
	// most is the maximum and the default of a page size that differs from that of lists; 0 means that it does not.
	most int
}

type paramKind string

const (
	textParam   paramKind = "string"
	flagParam   paramKind = "boolean"
	numberParam paramKind = "integer"
)

// bodySpec describes a body.
type bodySpec struct {
	media    []string
	schema   any
	optional bool
}

var pageParams = []parameter{
	{name: pageParam, kind: numberParam, about: "Number of the page, from 1 on. Default 1. A page past the end is empty."},
	{name: pageSizeParam, kind: numberParam, about: "Rows of a page."},
}

var previewParams = []parameter{
	pageParams[0],
	{name: pageSizeParam, kind: numberParam, about: "Rows of a page. The default is the maximum, because each page costs as much as the whole.", most: maxPreviewPage},
}

func listParams(more ...parameter) []parameter {
	return append(append([]parameter(nil), more...), pageParams...)
}

func filter(name, about string) parameter {
	return parameter{name: name, kind: textParam, repeated: true, about: about}
}

func words[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, word := range list {
		texts[i] = string(word)
	}
	return texts
}

var (
	orchestrationStates = []string{
		orchestration.Pending, orchestration.InProgress, orchestration.Canceling, orchestration.Canceled, orchestration.Succeeded,
		orchestration.Failed, "retrying",
	}
	operationState = parameter{
		name: orchestration.StateParam, kind: textParam, repeated: true, words: orchestrationStates,
		about: "Keeps what is in one of these states, in any letter case. retrying is an older word for pending.",
	}
)

const (
	aboutCreate = "The answer comes after the orchestration is stored. Both dialects of the body are understood; unknown keys, and keys that contradict " +
		"each other, are refused by name. With an Idempotency-Key the same request made again gives the same orchestration, and another request with the same key is refused."
	aboutPreview = "Takes the body of the upgrade and refuses what the upgrade refuses. Nothing is started or stored. The targets are resolved as at a start " +
		"now; of an upgrade with a later start they are resolved when it starts. page and page_size cut the runtimes and what is left out alike. Pages with the same revision belong together."
	idempotent = "Idempotency-Key"
)

// routes is the table.
var routes = []route{
	{
		id: "listRuntimes", method: http.MethodGet, pattern: "/runtimes", role: RoleOperator,
		summary: "List runtimes",
		about: "Different parameters are joined by AND, repeated ones by OR; names are exact values. Without a state suspended, deprovisioned and " +
			"incompletely deprovisioned runtimes are left out.",
		query: listParams(
			filter(runtime.GlobalAccountIDParam, "ID of the global account."),
			filter(runtime.SubAccountIDParam, "ID of the sub-account."),
			filter(runtime.InstanceIDParam, "Instance ID."),
			filter(runtime.RuntimeIDParam, "Runtime ID."),
			filter(runtime.RegionParam, "Region of the provider."),
			filter(runtime.ShootParam, "Name of the Shoot."),
			filter(runtime.PlanParam, "Name of the service plan."),
			parameter{name: runtime.StateParam, kind: textParam, repeated: true, words: words(runtimeStates), about: "State, in any letter case; all brings every runtime."},
			parameter{name: runtime.OperationDetailParam, kind: textParam, words: []string{string(runtime.AllOperation), string(runtime.LastOperation)}, about: "Which operations of each runtime are shown. Default all. The state is the same in both."},
			parameter{name: runtime.KymaConfigParam, kind: flagParam, about: "Adds the Kyma configuration."},
			parameter{name: runtime.ClusterConfigParam, kind: flagParam, about: "Adds the cluster configuration."},
			parameter{name: runtime.ExpiredParam, kind: flagParam, about: "true keeps expired runtimes only; false does not filter."},
			parameter{name: runtime.WithoutShootParam, kind: flagParam, about: "true keeps runtimes only whose runtime ID no Shoot has now; false does not filter. 503 while the Shoots are not followed."},
		),
		answer: runtime.RuntimesPage{}, handle: (*api).listRuntimes,
	},
	{
		id: "importRuntimes", method: http.MethodPost, pattern: "/runtimes/import", role: RoleAdmin,
		summary: "Import runtimes",
		about:   "Takes a page as GET /runtimes answers it. Runtimes are merged by instance ID; Swell's own operations on them are kept. Importing the same again changes nothing.",
		body:    &bodySpec{media: []string{jsonType}, schema: runtime.RuntimesPage{}},
		answer:  orchestration.ImportResponse{}, errors: []int{400, 413, 415}, handle: (*api).importRuntimes,
	},
	{
		id: "forgetRuntime", method: http.MethodDelete, pattern: "/runtimes/{instance_id}", role: RoleAdmin,
		summary: "Forget a runtime that no source knows any more",
		about: "Its pending operations end as canceled; its operations, orchestrations and events are kept. Refused while an operation of it is in progress, and while a " +
			"Shoot has its runtime ID, because it would come back. A runtime without an instance ID is named by its runtime ID, as GET /runtimes shows it. " +
			"On one that was forgotten before nothing changes.",
		answer: orchestration.ForgetResponse{}, errors: []int{404, 409}, handle: (*api).forgetRuntime,
	},
	{
		id: "listOrchestrations", method: http.MethodGet, pattern: "/orchestrations", role: RoleOperator,
		summary: "List orchestrations, newest first",
		query:   listParams(operationState, parameter{name: typeParam, kind: textParam, repeated: true, words: words(orchestrationTypes), about: "Type of orchestration."}),
		answer:  orchestration.StatusResponseList{}, handle: (*api).listOrchestrations,
	},
	{
		id: "getOrchestration", method: http.MethodGet, pattern: "/orchestrations/{orchestration_id}", role: RoleOperator,
		summary: "Get one orchestration",
		answer:  orchestration.StatusResponse{}, errors: []int{404}, handle: (*api).getOrchestration,
	},
	{
		id: "listOperations", method: http.MethodGet, pattern: "/orchestrations/{orchestration_id}/operations", role: RoleOperator,
		summary: "List the operations of an orchestration, newest first",
		about:   "For each runtime the newest operation is listed; an operation that was repeated can still be read by its ID.",
		query:   listParams(operationState),
		answer:  orchestration.OperationResponseList{}, errors: []int{404}, handle: (*api).listOperations,
	},
	{
		id: "getOperation", method: http.MethodGet, pattern: "/orchestrations/{orchestration_id}/operations/{operation_id}", role: RoleOperator,
		summary: "Get one operation with its configuration",
		answer:  orchestration.OperationDetailResponse{}, errors: []int{404}, handle: (*api).getOperation,
	},
	{
		id: "listLeftOut", method: http.MethodGet, pattern: "/orchestrations/{orchestration_id}/leftout", role: RoleOperator,
		summary: "List the runtimes that were left out, with reasons",
		query:   pageParams,
		answer:  orchestration.LeftOutList{}, errors: []int{404}, handle: (*api).listLeftOut,
	},
	{
		id: "listOrchestrationEvents", method: http.MethodGet, pattern: "/orchestrations/{orchestration_id}/events", role: RoleOperator,
		summary: "List the events of an orchestration, newest first",
		query:   eventParams,
		answer:  EventList{}, errors: []int{404}, handle: (*api).listOrchestrationEvents,
	},
	{
		id: "cancelOrchestration", method: http.MethodPut, pattern: "/orchestrations/{orchestration_id}/cancel", role: RoleAdmin,
		summary: "Cancel an orchestration",
		about:   "No operation starts after the answer; those in progress run to their end. On one that is canceling or has ended nothing changes.",
		answer:  orchestration.UpgradeResponse{}, errors: []int{404}, handle: (*api).cancelOrchestration,
	},
	{
		id: "retryOrchestration", method: http.MethodPost, pattern: "/orchestrations/{orchestration_id}/retry", role: RoleAdmin,
		summary: "Repeat operations that failed or were canceled",
		about:   "Without operations all that failed or were canceled are repeated. Each waits for its window unless immediate is true. What was repeated once is not repeated again by the same request.",
		body:    &bodySpec{media: []string{formType, jsonType}, schema: RetryBody{}, optional: true},
		status:  http.StatusAccepted, answer: orchestration.RetryResponse{}, errors: []int{400, 404, 409, 413, 415}, keyed: true, handle: (*api).retryOrchestration,
	},
	{
		id: "upgradeKyma", method: http.MethodPost, pattern: "/upgrade/kyma", role: RoleAdmin,
		summary: "Upgrade Kyma in a set of runtimes", about: aboutCreate,
		body:   &bodySpec{media: []string{jsonType}, schema: UpgradeBody{}},
		status: http.StatusAccepted, answer: orchestration.UpgradeResponse{}, errors: []int{400, 409, 413, 415},
		keyed: true, handle: upgrade(orchestration.UpgradeKymaOrchestration),
	},
	{
		id: "upgradeCluster", method: http.MethodPost, pattern: "/upgrade/cluster", role: RoleAdmin,
		summary: "Upgrade the Kubernetes clusters of a set of runtimes", about: aboutCreate,
		body:   &bodySpec{media: []string{jsonType}, schema: UpgradeBody{}},
		status: http.StatusAccepted, answer: orchestration.UpgradeResponse{}, errors: []int{400, 409, 413, 415},
		keyed: true, handle: upgrade(orchestration.UpgradeClusterOrchestration),
	},
	{
		id: "previewKyma", method: http.MethodPost, pattern: "/upgrade/kyma/preview", role: RoleOperator,
		summary: "Say what an upgrade of Kyma would do", about: aboutPreview, query: previewParams,
		body:   &bodySpec{media: []string{jsonType}, schema: UpgradeBody{}},
		answer: orchestration.Preview{}, errors: []int{400, 413, 415}, handle: preview(orchestration.UpgradeKymaOrchestration),
	},
	{
		id: "previewCluster", method: http.MethodPost, pattern: "/upgrade/cluster/preview", role: RoleOperator,
		summary: "Say what an upgrade of clusters would do", about: aboutPreview, query: previewParams,
		body:   &bodySpec{media: []string{jsonType}, schema: UpgradeBody{}},
		answer: orchestration.Preview{}, errors: []int{400, 413, 415}, handle: preview(orchestration.UpgradeClusterOrchestration),
	},
	{
		id: "listEvents", method: http.MethodGet, pattern: "/events", role: RoleOperator,
		summary: "List events of runtimes, newest first",
		about:   "The answer is a plain list, as older clients expect it; the header X-Total-Count has the number of all that match, unless before is given.",
		query:   eventParams,
		answer:  []orchestration.Event{}, handle: (*api).listEvents,
	},
	{
		id: "whoAmI", method: http.MethodGet, pattern: "/whoami", role: RoleAny,
		summary: "Tell callers who they are taken for, and what they may do",
		about:   "Callers without any role get an answer too. Without logins everybody is the user local and an admin.",
		answer:  orchestration.Identity{}, handle: (*api).whoAmI,
	},
	{
		id: "listLogins", method: http.MethodGet, pattern: "/logins", role: RoleNone,
		summary: "List the logins that the server accepts",
		about:   "For programs that log people in and know nothing but the address of the server. Empty on a server without logins. Nothing in it is secret.",
		answer:  orchestration.LoginList{}, handle: (*api).listLogins,
	},
	{
		id: "health", method: http.MethodGet, pattern: "/healthz", role: RoleNone, unlimited: true, probe: true,
		summary: "Tell that the process runs",
		answer:  HealthResponse{}, handle: (*api).health,
	},
	{
		id: "ready", method: http.MethodGet, pattern: "/readyz", role: RoleNone, unlimited: true, probe: true,
		summary: "Tell whether the server can serve",
		about:   "503 has the same body as 200 and says which check failed.",
		answer:  ReadyResponse{}, handle: (*api).ready,
	},
	{
		id: "metrics", method: http.MethodGet, pattern: "/metrics", role: RoleNone, unlimited: true,
		summary: "Metrics for Prometheus", media: "text/plain",
		raw: (*api).serveMetrics,
	},
	{
		id: "openAPI", method: http.MethodGet, pattern: "/openapi.json", role: RoleNone, unlimited: true,
		summary: "This document", media: jsonType,
		raw: (*api).serveOpenAPI,
	},
}
