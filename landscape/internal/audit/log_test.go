package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authnv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

func TestUpgradesCountWhatWasStored(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	log := NewLog(&file)
	log.AddRequest(Request{Namespace: "garden-a", Name: "c-1", User: "swell", Code: 200, Revision: 10})
	log.AddCommit(Commit{Namespace: "garden-a", Name: "c-1", Change: Updated, Revision: 10, OldVersion: "1.33.9", NewVersion: "1.34.7"})
	log.AddRequest(Request{Namespace: "garden-a", Name: "c-2", User: "swell", Code: 200, Revision: 11, DryRun: true})
	log.AddRequest(Request{Namespace: "garden-a", Name: "c-2", User: "swell", Code: 409})
	log.AddCommit(Commit{Namespace: "garden-a", Name: "c-2", Change: Updated, Revision: 12, OldVersion: "1.34.5", NewVersion: "1.34.7"})
	log.AddCommit(Commit{Namespace: "garden-a", Name: "c-2", Change: Updated, Revision: 13, OldVersion: "1.34.7", NewVersion: "1.34.7", NewGeneration: 3})
	log.AddCommit(Commit{Namespace: "garden-a", Name: "c-3", Change: Created, Revision: 14, NewVersion: "1.34.7"})
	log.AddCommit(Commit{Namespace: "garden-b", Name: "c-1", Change: Updated, Revision: 15, OldVersion: "1.34.5", NewVersion: "1.34.7"})

	upgrades := log.Upgrades(Filter{Namespace: "garden-a"})
	require.Equal(t, 2, upgrades.Total)
	require.Equal(t, map[string]int{"c-1": 1, "c-2": 1}, upgrades.PerShoot)
	require.Equal(t, "swell", upgrades.Writes[0].User)
	require.Empty(t, upgrades.Writes[1].User, "its answer never came about")
	require.Equal(t, 1, log.Upgrades(Filter{User: "swell"}).Total)

	lines := strings.Split(strings.TrimSpace(file.String()), "\n")
	require.Len(t, lines, 8)
	var first map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
	require.Equal(t, "request", first["kind"])

	log.Reset("garden-a")
	require.Zero(t, log.Upgrades(Filter{Namespace: "garden-a"}).Total)
	require.Equal(t, 1, log.Upgrades(Filter{}).Total)
	log.Reset("")
	require.Empty(t, log.Commits(Filter{}))
	require.NoError(t, log.Err())
}

func TestFilterChoosesRequests(t *testing.T) {
	t.Parallel()
	log := NewLog(&bytes.Buffer{})
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	log.AddRequest(Request{Time: at, Namespace: "n", Name: "a", User: "u", Verb: "patch", Code: 200})
	log.AddRequest(Request{Time: at.Add(time.Minute), Namespace: "n", Name: "b", User: "v", Verb: "update", Code: 422, DryRun: true})
	dry, wet := true, false
	for name, filter := range map[string]Filter{
		"name": {Name: "a"}, "user": {User: "u"}, "verb": {Verb: "patch"}, "dry run": {DryRun: &wet}, "accepted": {Accepted: true},
	} {
		found := log.Requests(filter)
		require.Len(t, found, 1, name)
		require.Equal(t, "a", found[0].Name, name)
	}
	require.Equal(t, "b", log.Requests(Filter{Since: at.Add(time.Second)})[0].Name)
	require.Equal(t, "b", log.Requests(Filter{DryRun: &dry})[0].Name)
	require.Len(t, log.Requests(Filter{Namespace: "n"}), 2)
	require.Empty(t, log.Requests(Filter{Namespace: "m"}))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestFirstWriteErrorIsKept(t *testing.T) {
	t.Parallel()
	log := NewLog(broken{})
	log.AddCommit(Commit{})
	log.AddCommit(Commit{})
	require.ErrorContains(t, log.Err(), "disk full")
	require.Len(t, log.Commits(Filter{}), 2)
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	records := make([]int, keep)
	trimmed := trim(records)
	require.Len(t, trimmed, keep-keep/4)
	require.Len(t, trim(records[:10]), 10)
}

func TestBackendReadsEvents(t *testing.T) {
	t.Parallel()
	log := NewLog(&bytes.Buffer{})
	backend := NewBackend(log)
	event := &auditapi.Event{
		Stage: auditapi.StageResponseComplete, AuditID: "id-1", Verb: "patch", UserAgent: "swell/1",
		User:           authnv1.UserInfo{Username: "u"},
		RequestURI:     "/apis/core.gardener.cloud/v1beta1/namespaces/n/shoots/a?dryRun=All",
		ObjectRef:      &auditapi.ObjectReference{Namespace: "n", Name: "a", Subresource: "status"},
		ResponseStatus: &metav1.Status{Code: 200},
		RequestObject:  &runtime.Unknown{Raw: []byte(`{"spec":{}}`)},
		ResponseObject: &runtime.Unknown{Raw: []byte(`{"metadata":{"resourceVersion":"17","generation":4},"spec":{"kubernetes":{"version":"1.34.7"}}}`)},
	}
	early := event.DeepCopy()
	early.Stage = auditapi.StageRequestReceived
	refused := &auditapi.Event{
		Stage: auditapi.StageResponseComplete, Verb: "create", ObjectRef: &auditapi.ObjectReference{Namespace: "n"},
		RequestURI: "%", ResponseStatus: &metav1.Status{Code: 422, Message: "no"}, RequestObject: &runtime.Unknown{Raw: []byte{0xff}},
	}
	require.True(t, backend.ProcessEvents(early, event, refused))
	require.NoError(t, backend.Run(nil))
	backend.Shutdown()
	require.Equal(t, "landscape", backend.String())

	requests := log.Requests(Filter{})
	require.Len(t, requests, 2)
	got := requests[0]
	require.True(t, got.DryRun)
	require.False(t, got.Accepted())
	require.EqualValues(t, 17, got.Revision)
	require.EqualValues(t, 4, got.Generation)
	require.Equal(t, "1.34.7", got.Version)
	require.Equal(t, "status", got.Subresource)
	require.JSONEq(t, `{"spec":{}}`, string(got.Body))
	require.Equal(t, "no", requests[1].Reason)
	require.Empty(t, requests[1].Body, "what is not JSON is left out")
}

func TestPolicyRecordsWritesToShootsOnly(t *testing.T) {
	t.Parallel()
	policy := Policy{Silent: map[string]bool{"quiet": true}}
	level := func(verb, resource, who string) auditapi.Level {
		return policy.EvaluatePolicyRule(authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: who}, Verb: verb, Resource: resource, ResourceRequest: true,
		}).Level
	}
	require.Equal(t, auditapi.LevelRequestResponse, level("patch", "shoots", "u"))
	require.Equal(t, auditapi.LevelNone, level("patch", "shoots", "quiet"))
	require.Equal(t, auditapi.LevelNone, level("get", "shoots", "u"))
	require.Equal(t, auditapi.LevelNone, level("patch", "seeds", "u"))
}
