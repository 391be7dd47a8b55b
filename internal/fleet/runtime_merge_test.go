package fleet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/internal/fleet"
	"github.com/swell-fleet/swell/runtime"
)

// someSources are sources from the one that knows least to those that know everything.
var someSources = []string{fleet.SourceGardener, fleet.SourceInfrastructureManager, "import", "broker"}

func drawDocument(t *rapid.T, name string) runtime.RuntimeDTO {
	text := func(field string) string {
		return rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, name+" "+field)
	}
	doc := runtime.RuntimeDTO{
		InstanceID: "i-1", RuntimeID: "rt-1", ShootName: text("shoot"), ProviderRegion: text("region"), Provider: text("provider"),
		ServicePlanName: text("plan"), UserID: text("user"), KymaVersion: text("version"),
	}
	if rapid.Bool().Draw(t, name+" configured") {
		doc.ClusterConfig = &gqlschema.GardenerConfigInput{KubernetesVersion: text("kubernetes")}
	}
	if rapid.Bool().Draw(t, name+" suspended") {
		doc.Status.Suspension = &runtime.OperationsData{Data: []runtime.Operation{{State: "succeeded", OperationID: text("operation")}}}
	}
	return doc
}

// Whatever comes in whatever order: the same document twice changes nothing the second time, a source that knows less changes nothing that is
// there, and the operations are those of the source whose document it is.
func TestMergeDocumentProperties(t *testing.T) {
	t.Parallel()
	rank := map[string]int{fleet.SourceGardener: 0, fleet.SourceInfrastructureManager: 1, "import": 2, "broker": 2}
	fields := func(d *runtime.RuntimeDTO) []string {
		return []string{d.ShootName, d.ProviderRegion, d.Provider, d.ServicePlanName, d.UserID, d.KymaVersion}
	}
	rapid.Check(t, func(rt *rapid.T) {
		known := fleet.Runtime{DTO: drawDocument(rt, "first"), Source: rapid.SampledFrom(someSources).Draw(rt, "first source")}
		for range rapid.IntRange(1, 6).Draw(rt, "documents") {
			before := known
			source, doc := rapid.SampledFrom(someSources).Draw(rt, "source"), drawDocument(rt, "next")
			known.DTO, known.Source = fleet.MergeDocument(&before, source, doc)
			again, againSource := fleet.MergeDocument(&known, source, doc)
			require.Empty(rt, cmp.Diff(known.DTO, again), "the second time")
			require.Equal(rt, known.Source, againSource)

			was, is, said := fields(&before.DTO), fields(&known.DTO), fields(&doc)
			lower := rank[source] < rank[before.Source]
			for i := range was {
				switch {
				case lower && was[i] != "":
					require.Equal(rt, was[i], is[i])
				case said[i] != "":
					require.Equal(rt, said[i], is[i])
				default:
					require.Equal(rt, was[i], is[i], "what is there was emptied")
				}
			}
			want, status := source, doc.Status
			if lower {
				want, status = before.Source, before.DTO.Status
			}
			require.Equal(rt, want, known.Source)
			require.Empty(rt, cmp.Diff(status, known.DTO.Status))
			if before.DTO.ClusterConfig != nil {
				require.NotNil(rt, known.DTO.ClusterConfig)
			}
		}
	})
}
