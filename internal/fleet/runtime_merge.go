package fleet

import (
	"encoding/json"

	"github.com/swell-fleet/swell/gqlschema"
	"github.com/swell-fleet/swell/runtime"
)

// The sources of runtimes that tell a part of a document only.
const (
	// SourceGardener is the source that makes runtimes of Shoots.
	SourceGardener = "gardener"
	// SourceInfrastructureManager is the source that makes runtimes of the infrastructure manager's Runtime resources.
	SourceInfrastructureManager = "infrastructure-manager"
)

// PartialSource reports whether a source tells a part of a document only: where the runtime is and how it is built, and neither who uses it nor
// what was done to it before. All other sources tell everything.
func PartialSource(source string) bool {
	return source == SourceGardener || source == SourceInfrastructureManager
}

// MergeDocument puts a document of a source into the record that is known under the same instance ID, and returns the document to keep and the
// source whose document it is.
//
// A whole document takes the place of the known one. A partial one does so too where the known one is of the same source; into a document of
// another source it puts the fields that it has and leaves the others as they are. Configurations that a document does not have stay in any case: lists of
// runtimes hold them only for those who ask for them.
func MergeDocument(known *Runtime, source string, doc runtime.RuntimeDTO) (runtime.RuntimeDTO, string) {
	if !PartialSource(source) || known.Source == source {
		if doc.KymaConfig == nil {
			doc.KymaConfig = known.DTO.KymaConfig
		}
		if doc.ClusterConfig == nil {
			doc.ClusterConfig = known.DTO.ClusterConfig
		}
		return doc, source
	}
	merged := known.DTO
	for _, field := range []struct {
		to   *string
		from string
	}{
		{&merged.RuntimeID, doc.RuntimeID},
		{&merged.GlobalAccountID, doc.GlobalAccountID},
		{&merged.SubscriptionGlobalAccountID, doc.SubscriptionGlobalAccountID},
		{&merged.SubAccountID, doc.SubAccountID},
		{&merged.ProviderRegion, doc.ProviderRegion},
		{&merged.SubAccountRegion, doc.SubAccountRegion},
		{&merged.ShootName, doc.ShootName},
		{&merged.ServiceClassID, doc.ServiceClassID},
		{&merged.ServiceClassName, doc.ServiceClassName},
		{&merged.ServicePlanID, doc.ServicePlanID},
		{&merged.ServicePlanName, doc.ServicePlanName},
		{&merged.Provider, doc.Provider},
		{&merged.UserID, doc.UserID},
		{&merged.KymaVersion, doc.KymaVersion},
	} {
		if field.from != "" {
			*field.to = field.from
		}
	}
	if doc.KymaConfig != nil {
		merged.KymaConfig = doc.KymaConfig
	}
	if doc.ClusterConfig != nil {
		merged.ClusterConfig = doc.ClusterConfig
	}
	return merged, known.Source
}

// Apply puts what a succeeded upgrade left into a document. A configuration is laid over the known one: fields that it does not have, or has as
// null, stay. One that cannot be read changes nothing.
func (v *RuntimeVersion) Apply(doc *runtime.RuntimeDTO) {
	if v.KymaVersion != "" {
		doc.KymaVersion = v.KymaVersion
	}
	doc.KymaConfig = overlay[gqlschema.KymaConfigInput](doc.KymaConfig, v.KymaConfig)
	doc.ClusterConfig = overlay[gqlschema.GardenerConfigInput](doc.ClusterConfig, v.ClusterConfig)
}

func overlay[T any](known *T, raw []byte) *T {
	var fields map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &fields) != nil {
		return known
	}
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
		}
	}
	if len(fields) == 0 {
		return known
	}
	set, err := json.Marshal(fields)
	if err != nil {
		return known
	}
	var merged T
	if known != nil {
		before, err := json.Marshal(known)
		if err != nil || json.Unmarshal(before, &merged) != nil {
			return known
		}
	}
	if json.Unmarshal(set, &merged) != nil {
		return known
	}
	return &merged
}
