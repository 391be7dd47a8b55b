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

// SourcedRuntime is a runtime whose document is of a source, in short.
type SourcedRuntime struct {
	InstanceID string
	RuntimeID  string
	ShootName  string
}

// PartialSource reports whether a source tells a part of a document only: where the runtime is and how it is built, and neither who uses it nor
// what was done to it before. All other sources tell everything.
func PartialSource(source string) bool { return sourceRank(source) < wholeRank }

// wholeRank is the rank of sources that tell everything.
const wholeRank = 2

// sourceRank orders the sources by how much they know of a runtime.
func sourceRank(source string) int {
	switch source {
	case SourceGardener:
		return 0
	case SourceInfrastructureManager:
		return 1
	default:
		return wholeRank
	}
}

// MergeDocument puts a document of a source into the record that is known of the same runtime, and returns the document to keep and the source whose
// document it is.
//
// The source that knows more has the word. Its document takes the place of the known one, with its operations; what it leaves empty stays as it was, so
// that lists with fewer fields, such as those without the configurations, take nothing away. A document of a source that knows less fills what is
// empty, and touches neither what is there nor the operations.
func MergeDocument(known *Runtime, source string, doc runtime.RuntimeDTO) (runtime.RuntimeDTO, string) {
	if sourceRank(source) < sourceRank(known.Source) {
		merged := known.DTO
		fillEmpty(&merged, &doc)
		return merged, known.Source
	}
	fillEmpty(&doc, &known.DTO)
	return doc, source
}

// fillEmpty gives a document what it does not have and another one has, except for the operations.
func fillEmpty(doc, from *runtime.RuntimeDTO) {
	for _, field := range []struct {
		to   *string
		from string
	}{
		{&doc.RuntimeID, from.RuntimeID},
		{&doc.GlobalAccountID, from.GlobalAccountID},
		{&doc.SubscriptionGlobalAccountID, from.SubscriptionGlobalAccountID},
		{&doc.SubAccountID, from.SubAccountID},
		{&doc.ProviderRegion, from.ProviderRegion},
		{&doc.SubAccountRegion, from.SubAccountRegion},
		{&doc.ShootName, from.ShootName},
		{&doc.ServiceClassID, from.ServiceClassID},
		{&doc.ServiceClassName, from.ServiceClassName},
		{&doc.ServicePlanID, from.ServicePlanID},
		{&doc.ServicePlanName, from.ServicePlanName},
		{&doc.Provider, from.Provider},
		{&doc.UserID, from.UserID},
		{&doc.KymaVersion, from.KymaVersion},
	} {
		if *field.to == "" {
			*field.to = field.from
		}
	}
	if doc.KymaConfig == nil {
		doc.KymaConfig = from.KymaConfig
	}
	if doc.ClusterConfig == nil {
		doc.ClusterConfig = from.ClusterConfig
	}
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
