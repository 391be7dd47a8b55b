package orchestration_test

import (
	"encoding/json"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/orchestration"
	"github.com/swell-fleet/swell/runtime"
)

// Whatever a request holds, its targets are either refused, by Validate and the resolver alike, or select each runtime at most once.
func FuzzTargets(f *testing.F) {
	for _, seed := range []string{
		`{"targets":{"include":[{"target":"all"}]}}`,
		`{"targets":{"include":[{}]}}`,
		`{"targets":{"include":[{"runtime":"rt-1"}]}}`,
		`{"targets":{"include":null,"exclude":null},"version":"","strategy":{"parallel":{"workers":0}}}`,
		`{"targets":{"include":[{"region":"eu-("}]}}`,
		`{"targets":{"include":[{"region":"^eu-","globalAccount":"blue|green","planName":"aws"},{"target":"all"}],"exclude":[{"shoot":"c-bb"}]}}`,
		`{"targets":{"include":[{"target":" "},{"subAccount":"(?i)SA-.*1$"}],"exclude":[{"instanceID":"instance-rt-1"}]}}`,
		`{"targets":{"include":[{"region":"((((((((((a{10}){10}){10}){10}){10}){10}"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	shoots := []*gardencorev1beta1.Shoot{
		newShoot("c-aa", "rt-1"), newShoot("c-bb", "rt-2", inRegion("us-demo-1")), newShoot("c-cc", "rt-3", beingDeleted), newShoot("c-dd", ""),
	}
	runtimes := []runtime.RuntimeDTO{provisioned("rt-1"), provisioned("rt-2"), provisioned("rt-3")}
	f.Fuzz(func(t *testing.T, document []byte) {
		var parameters orchestration.Parameters
		if json.Unmarshal(document, &parameters) != nil {
			return
		}
		refused := parameters.Targets.Validate()
		resolution, err := orchestration.ResolveTargets(parameters.Targets, shoots, runtimes)
		require.Equal(t, refused, err)
		if err != nil {
			require.NotEmpty(t, err.Error())
			require.Empty(t, resolution)
			return
		}
		named := map[string]bool{}
		for _, r := range resolution.Runtimes {
			require.False(t, named[r.ShootName])
			named[r.ShootName] = true
			require.Contains(t, []string{"rt-1", "rt-2"}, r.RuntimeID)
		}
		for _, row := range resolution.LeftOut {
			require.False(t, named[row.ShootName])
			named[row.ShootName] = true
		}
	})
}

// What a server answers decodes or is refused, and what was decoded keeps its meaning when it is encoded again.
func FuzzDecodeAnswers(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"data":null}`, `{"data":[{"operationID":"op-1","maintenanceWindowBegin":"0000-01-01T00:30:00+14:00","waitReason":"window"}]}`,
		`{"orchestrationID":"o-1","parameters":{"targets":{"include":null}},"operationStats":{"in progress":1},"startsAt":null}`,
		`{"data":[{"shootName":"c-aa","reason":"from_a_newer_server"}],"count":1,"totalCount":1}`,
		`{"retryShoots":[],"oldOperations":null,"msg":""}`, `{"createdAt":"9999-12-31T23:59:59.999999999Z"}`, `{"createdAt":"2024-05-15T12:00:00+24:00"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		again[orchestration.StatusResponseList](t, document)
		again[orchestration.StatusResponse](t, document)
		again[orchestration.OperationResponseList](t, document)
		again[orchestration.OperationDetailResponse](t, document)
		again[orchestration.RuntimeOperation](t, document)
		again[orchestration.LeftOutList](t, document)
		again[orchestration.RetryResponse](t, document)
	})
}

// again decodes, encodes and decodes a document.
func again[T any](t *testing.T, document []byte) {
	t.Helper()
	var once, twice T
	if json.Unmarshal(document, &once) != nil {
		return
	}
	encoded, err := json.Marshal(once)
	if err != nil {
		// The time package reads offsets of 24 hours, which it does not write.
		require.ErrorContains(t, err, "Time.MarshalJSON")
		return
	}
	require.NoError(t, json.Unmarshal(encoded, &twice))
	reencoded, err := json.Marshal(twice)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(encoded), string(reencoded)))
}
