package gqlschema

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goTypes are the Go types of the table.
var goTypes = map[string]reflect.Type{
	"KymaConfigInput":              reflect.TypeFor[KymaConfigInput](),
	"ComponentConfigurationInput":  reflect.TypeFor[ComponentConfigurationInput](),
	"ConfigEntryInput":             reflect.TypeFor[ConfigEntryInput](),
	"GardenerConfigInput":          reflect.TypeFor[GardenerConfigInput](),
	"ProviderSpecificInput":        reflect.TypeFor[ProviderSpecificInput](),
	"AWSProviderConfigInput":       reflect.TypeFor[AWSProviderConfigInput](),
	"AWSZoneInput":                 reflect.TypeFor[AWSZoneInput](),
	"AzureProviderConfigInput":     reflect.TypeFor[AzureProviderConfigInput](),
	"AzureZoneInput":               reflect.TypeFor[AzureZoneInput](),
	"GCPProviderConfigInput":       reflect.TypeFor[GCPProviderConfigInput](),
	"OpenStackProviderConfigInput": reflect.TypeFor[OpenStackProviderConfigInput](),
	"DNSConfigInput":               reflect.TypeFor[DNSConfigInput](),
	"DNSProviderInput":             reflect.TypeFor[DNSProviderInput](),
	"OIDCConfigInput":              reflect.TypeFor[OIDCConfigInput](),
	"UpgradeRuntimeInput":          reflect.TypeFor[UpgradeRuntimeInput](),
	"UpgradeShootInput":            reflect.TypeFor[UpgradeShootInput](),
	"GardenerUpgradeInput":         reflect.TypeFor[GardenerUpgradeInput](),
	"OperationStatus":              reflect.TypeFor[OperationStatus](),
	"LastError":                    reflect.TypeFor[LastError](),
	"RuntimeStatus":                reflect.TypeFor[RuntimeStatus](),
	"RuntimeConfig":                reflect.TypeFor[RuntimeConfig](),
}

// scalars are the GraphQL types that are not objects, with their Go types.
var scalars = map[string]reflect.Type{
	"String":           reflect.TypeFor[string](),
	"Int":              reflect.TypeFor[int](),
	"Boolean":          reflect.TypeFor[bool](),
	"KymaProfile":      reflect.TypeFor[KymaProfile](),
	"ConflictStrategy": reflect.TypeFor[ConflictStrategy](),
	"OperationType":    reflect.TypeFor[OperationType](),
	"OperationState":   reflect.TypeFor[OperationState](),
}

type wireField struct{ json, goName, graphQL string }

// wireTypes reads the table.
func wireTypes() map[string][]wireField {
	types := map[string][]wireField{}
	var current string
	for line := range strings.Lines(strings.TrimSpace(wire)) {
		fields := strings.Fields(line)
		if len(fields) == 2 {
			current = fields[1]
			continue
		}
		types[current] = append(types[current], wireField{json: fields[0], goName: strings.TrimSuffix(fields[1], ":"), graphQL: fields[2]})
	}
	return types
}

func TestGoTypesAreThoseOfTheWire(t *testing.T) {
	t.Parallel()
	types := wireTypes()
	require.Len(t, types, len(goTypes))
	for name, fields := range types {
		goType, ok := goTypes[name]
		require.True(t, ok, name)
		require.Equal(t, len(fields), goType.NumField(), "%s has other fields than the table", name)
		for _, want := range fields {
			got, ok := goType.FieldByName(want.goName)
			require.True(t, ok, "%s.%s", name, want.goName)
			goField, tag := goForm(t, want.graphQL)
			require.Equal(t, goField, got.Type.String(), "%s.%s", name, want.goName)
			require.Equal(t, `json:"`+want.json+tag+`"`, string(got.Tag), "%s.%s", name, want.goName)
		}
	}
}

// goForm says what a GraphQL type is in Go: required scalars are values, optional ones and all objects are pointers, lists of objects
// are slices of pointers, and what is optional is left out when it is empty.
func goForm(t *testing.T, graphQL string) (goType, tag string) {
	t.Helper()
	inner, required := strings.CutSuffix(graphQL, "!")
	if !required {
		tag = ",omitempty"
	}
	if element, isList := strings.CutPrefix(inner, "["); isList {
		element, _ = goForm(t, strings.TrimSuffix(element, "]"))
		return "[]" + element, tag
	}
	if scalar, ok := scalars[inner]; ok {
		if required {
			return scalar.String(), tag
		}
		return "*" + scalar.String(), tag
	}
	return "*gqlschema." + inner, tag
}

func TestTheSchemaIsThatOfTheWire(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	for name, fields := range wireTypes() {
		definition := schema[name]
		require.NotEmpty(t, definition, "type %s is missing", name)
		for _, field := range fields {
			require.Regexp(t, `(?m)^  `+field.json+`: `+regexp.QuoteMeta(field.graphQL)+`$`, definition, name)
		}
	}
}

func TestTheSchemaHasTheCallsOfAnUpgrade(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	require.Contains(t, schema["Mutation"], "\n  upgradeRuntime(id: String!, config: UpgradeRuntimeInput!): OperationStatus\n")
	require.Contains(t, schema["Mutation"], "\n  upgradeShoot(id: String!, config: UpgradeShootInput!): OperationStatus\n")
	require.Contains(t, schema["Query"], "\n  runtimeStatus(id: String!): RuntimeStatus\n")
	require.Contains(t, schema["Query"], "\n  runtimeOperationStatus(id: String!): OperationStatus\n")
}

// readSchema returns the bodies of the definitions by name.
func readSchema(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("schema.graphql")
	require.NoError(t, err)
	definitions := map[string]string{}
	for _, match := range regexp.MustCompile(`(?ms)^(?:type|input|enum) (\w+) \{(.*?)^\}`).FindAllStringSubmatch(string(text), -1) {
		definitions[match[1]] = match[2]
	}
	return definitions
}

func TestEnumsHaveTheValuesOfTheWire(t *testing.T) {
	t.Parallel()
	require.Equal(t, []KymaProfile{"Evaluation", "Production"}, AllKymaProfile)
	require.Equal(t, []ConflictStrategy{"Merge", "Replace"}, AllConflictStrategy)
	require.Equal(t, []OperationState{"Pending", "InProgress", "Succeeded", "Failed"}, AllOperationState)
	require.Equal(t, []OperationType{
		"Provision", "ProvisionNoInstall", "Upgrade", "UpgradeShoot", "Deprovision", "DeprovisionNoInstall", "ReconnectRuntime", "Hibernate",
	}, AllOperationType)
}
