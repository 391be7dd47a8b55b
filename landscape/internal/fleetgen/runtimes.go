package fleetgen

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Operation is one thing that the broker did to a runtime, in the JSON form of
// the broker's runtimes API.
type Operation struct {
	State          string    `json:"state"`
	Type           string    `json:"type,omitempty"`
	Description    string    `json:"description"`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
	OperationID    string    `json:"operationID"`
	FinishedStages []string  `json:"finishedStages"`
	RuntimeVersion string    `json:"runtimeVersion"`
}

// Operations is a list of operations of one type, newest first.
type Operations struct {
	Data       []Operation `json:"data"`
	TotalCount int         `json:"totalCount"`
	Count      int         `json:"count"`
}

// Status is what the broker knows about the life of a runtime.
type Status struct {
	CreatedAt        time.Time   `json:"createdAt"`
	ModifiedAt       time.Time   `json:"modifiedAt"`
	State            string      `json:"state"`
	DeletedAt        *time.Time  `json:"deletedAt,omitempty"`
	Provisioning     *Operation  `json:"provisioning,omitempty"`
	Deprovisioning   *Operation  `json:"deprovisioning,omitempty"`
	UpgradingCluster *Operations `json:"upgradingCluster,omitempty"`
	Update           *Operations `json:"update,omitempty"`
	Suspension       *Operations `json:"suspension,omitempty"`
	Unsuspension     *Operations `json:"unsuspension,omitempty"`
}

// Runtime is the broker's view of a runtime.
type Runtime struct {
	InstanceID                  string `json:"instanceID"`
	RuntimeID                   string `json:"runtimeID"`
	GlobalAccountID             string `json:"globalAccountID"`
	SubscriptionGlobalAccountID string `json:"subscriptionGlobalAccountID"`
	SubAccountID                string `json:"subAccountID"`
	ProviderRegion              string `json:"region"`
	SubAccountRegion            string `json:"subAccountRegion"`
	ShootName                   string `json:"shootName"`
	ServiceClassID              string `json:"serviceClassID"`
	ServiceClassName            string `json:"serviceClassName"`
	ServicePlanID               string `json:"servicePlanID"`
	ServicePlanName             string `json:"servicePlanName"`
	Provider                    string `json:"provider"`
	Status                      Status `json:"status"`
	UserID                      string `json:"userID"`
	AVSInternalEvaluationID     int64  `json:"avsInternalEvaluationID"`
	KymaVersion                 string `json:"kymaVersion,omitempty"`
}

// RuntimesPage is the document that a broker answers a query for runtimes with.
type RuntimesPage struct {
	Data       []Runtime `json:"data"`
	Count      int       `json:"count"`
	TotalCount int       `json:"totalCount"`
}

// Runtimes returns all runtimes of the fleet as one page, those without a Shoot
// included.
func (f Fleet) Runtimes() RuntimesPage {
	page := RuntimesPage{Data: []Runtime{}}
	for _, member := range f.Members {
		if member.Runtime != nil {
			page.Data = append(page.Data, *member.Runtime)
		}
	}
	page.Data = append(page.Data, f.Others...)
	page.Count, page.TotalCount = len(page.Data), len(page.Data)
	return page
}

// owner is who a runtime belongs to and where it lives.
type owner struct {
	global, sub string
	plan        plan
	provider    string
	place       region
}

const (
	stateSucceeded = "succeeded"
	stateFailed    = "failed"
	stateProgress  = "in progress"
)

// newRuntime invents the history of a runtime that has a Shoot. In a plain
// fleet every runtime can be upgraded: its last provisioning has succeeded.
func newRuntime(draw *rand.Rand, mix Mix, who owner, shoot, runtimeID, instanceID string, created time.Time) *Runtime {
	r := &Runtime{
		InstanceID: instanceID, RuntimeID: runtimeID,
		GlobalAccountID: who.global, SubscriptionGlobalAccountID: who.global, SubAccountID: who.sub,
		ProviderRegion: who.place.name, SubAccountRegion: who.place.platform, ShootName: shoot,
		ServiceClassID: serviceClassID, ServiceClassName: serviceClassName,
		ServicePlanID: who.plan.id, ServicePlanName: who.plan.name, Provider: who.provider,
		UserID:                  fmt.Sprintf("user-%03d@%s.example", draw.IntN(500), who.sub),
		AVSInternalEvaluationID: int64(10_000_000 + draw.IntN(1_000_000)),
		KymaVersion:             pick(draw, []string{"2.20.5", "2.20.4"}),
	}
	r.Status.CreatedAt = created
	r.Status.State = stateSucceeded
	provisioning := operation(draw, "provision", stateSucceeded, created, 12*time.Minute)
	r.Status.Provisioning = &provisioning
	r.Status.ModifiedAt = provisioning.UpdatedAt

	at := created
	later := func() time.Time {
		at = at.Add(epoch.Sub(at) / time.Duration(2+draw.IntN(3)))
		return at.Truncate(time.Second)
	}
	if chance(draw, 35) {
		r.Status.Update = r.add(operation(draw, "update", stateSucceeded, later(), 4*time.Minute))
	}
	if chance(draw, 25) {
		state := stateSucceeded
		if chance(draw, 15) {
			state = stateFailed
			r.Status.State = "error"
		}
		r.Status.UpgradingCluster = r.add(operation(draw, "cluster upgrade", state, later(), 25*time.Minute))
	}
	if mix == Varied {
		r.trouble(draw, later)
	}
	return r
}

// trouble makes about one runtime in ten one that must not be upgraded now, and
// lets a few others have been suspended and woken up again.
func (r *Runtime) trouble(draw *rand.Rand, later func() time.Time) {
	switch ticket := draw.IntN(100); {
	case ticket < 4:
		op := operation(draw, "deprovision", stateProgress, later(), time.Minute)
		r.Status.Deprovisioning, r.Status.State = &op, "deprovisioning"
		r.Status.ModifiedAt = op.UpdatedAt
	case ticket < 6:
		r.Status.Suspension = r.add(operation(draw, "suspension", stateProgress, later(), time.Minute))
		r.Status.State = "deprovisioning"
	case ticket < 8:
		r.Status.Suspension = r.add(operation(draw, "suspension", stateSucceeded, later(), 8*time.Minute))
		r.Status.Unsuspension = r.add(operation(draw, "unsuspension", stateProgress, later(), time.Minute))
		r.Status.State = "provisioning"
	case ticket < 12:
		r.Status.Suspension = r.add(operation(draw, "suspension", stateSucceeded, later(), 8*time.Minute))
		r.Status.Unsuspension = r.add(operation(draw, "unsuspension", stateSucceeded, later(), 11*time.Minute))
		r.Status.State = stateSucceeded
	}
}

func (r *Runtime) add(op Operation) *Operations {
	r.Status.ModifiedAt = op.UpdatedAt
	return &Operations{Data: []Operation{op}, TotalCount: 1, Count: 1}
}

func operation(draw *rand.Rand, kind, state string, at time.Time, lasting time.Duration) Operation {
	op := Operation{
		State: state, Type: kind, CreatedAt: at, UpdatedAt: at.Add(lasting + time.Duration(draw.IntN(300))*time.Second),
		OperationID: newUUID(draw), FinishedStages: []string{}, RuntimeVersion: "2.20.5",
	}
	switch state {
	case stateSucceeded:
		op.Description = kind + " succeeded"
		op.FinishedStages = []string{"create_runtime", "check_kyma"}
	case stateFailed:
		op.Description = kind + " failed: the cluster did not become healthy in time"
		op.FinishedStages = []string{"create_runtime"}
	default:
		op.Description = kind + " is being processed"
	}
	return op
}

// others invents the runtimes of a varied fleet that have no Shoot: about one
// per twenty Shoots, suspended trials and ones that are gone.
func others(options Options, names nameSet) []Runtime {
	var list []Runtime
	for index := range options.Shoots / 20 {
		draw := rand.New(rand.NewPCG(options.Seed, 1<<40+uint64(index)))
		p := drawProvider(draw)
		global, sub := account(draw)
		who := owner{global: global, sub: sub, plan: planTrial, provider: p.name, place: pick(draw, p.regions)}
		created := epoch.Add(-time.Duration(30+draw.IntN(300)) * 24 * time.Hour)
		r := newRuntime(draw, Plain, who, names.next(draw), newUUID(draw), newUUID(draw), created)
		at := epoch.Add(-time.Duration(1+draw.IntN(200)) * time.Hour)
		if chance(draw, 50) {
			r.Status.Suspension = r.add(operation(draw, "suspension", stateSucceeded, at, 8*time.Minute))
			r.Status.State = "suspended"
		} else {
			op := operation(draw, "deprovision", stateSucceeded, at, 9*time.Minute)
			r.Status.Deprovisioning, r.Status.State = &op, "deprovisioned"
			r.Status.ModifiedAt, r.Status.DeletedAt = op.UpdatedAt, &op.UpdatedAt
		}
		list = append(list, *r)
	}
	return list
}
