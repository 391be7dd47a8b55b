package audit

import (
	"encoding/json"
	"net/url"
	"strconv"

	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Policy asks the API server to record every write to a Shoot with the bodies of
// request and answer, and nothing else. Writes by the simulator itself are left
// out; the changes they lead to are recorded as commits.
type Policy struct {
	// Silent are the users whose writes are not recorded.
	Silent map[string]bool
}

// EvaluatePolicyRule implements the API server's audit.PolicyRuleEvaluator.
func (p Policy) EvaluatePolicyRule(a authorizer.Attributes) audit.RequestAuditConfig {
	none := audit.RequestAuditConfig{Level: auditapi.LevelNone}
	if a.IsReadOnly() || a.GetResource() != "shoots" {
		return none
	}
	if who := a.GetUser(); who != nil && p.Silent[who.GetName()] {
		return none
	}
	return audit.RequestAuditConfig{
		Level:             auditapi.LevelRequestResponse,
		OmitStages:        []auditapi.Stage{auditapi.StageRequestReceived, auditapi.StageResponseStarted},
		OmitManagedFields: true,
	}
}

// Backend hands the API server's audit events to a log.
type Backend struct {
	log *Log
}

// NewBackend returns the backend that fills log.
func NewBackend(log *Log) *Backend { return &Backend{log: log} }

// Run implements audit.Backend.
func (b *Backend) Run(<-chan struct{}) error { return nil }

// Shutdown implements audit.Backend.
func (b *Backend) Shutdown() {}

// String implements audit.Backend.
func (b *Backend) String() string { return "landscape" }

// ProcessEvents implements audit.Backend.
func (b *Backend) ProcessEvents(events ...*auditapi.Event) bool {
	for _, event := range events {
		if event.Stage == auditapi.StageResponseComplete || event.Stage == auditapi.StagePanic {
			b.log.AddRequest(request(event))
		}
	}
	return true
}

// answer is the part of a Shoot that tells what a write led to.
type answer struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
		Generation      int64  `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Kubernetes struct {
			Version string `json:"version"`
		} `json:"kubernetes"`
	} `json:"spec"`
}

func request(event *auditapi.Event) Request {
	r := Request{
		Time:      event.RequestReceivedTimestamp.Time,
		ID:        string(event.AuditID),
		User:      event.User.Username,
		UserAgent: event.UserAgent,
		Verb:      event.Verb,
	}
	if event.ObjectRef != nil {
		r.Namespace, r.Name, r.Subresource = event.ObjectRef.Namespace, event.ObjectRef.Name, event.ObjectRef.Subresource
	}
	if target, err := url.ParseRequestURI(event.RequestURI); err == nil {
		r.DryRun = target.Query().Has("dryRun")
	}
	if event.ResponseStatus != nil {
		r.Code, r.Reason = event.ResponseStatus.Code, event.ResponseStatus.Message
	}
	if event.RequestObject != nil && json.Valid(event.RequestObject.Raw) {
		r.Body = event.RequestObject.Raw
	}
	if event.ResponseObject != nil && r.Code >= 200 && r.Code < 300 {
		var shoot answer
		if json.Unmarshal(event.ResponseObject.Raw, &shoot) == nil {
			r.Version, r.Generation = shoot.Spec.Kubernetes.Version, shoot.Metadata.Generation
			r.Revision, _ = strconv.ParseInt(shoot.Metadata.ResourceVersion, 10, 64)
			if r.Name == "" {
				r.Name = shoot.Metadata.Name
			}
		}
	}
	return r
}
