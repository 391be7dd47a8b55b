package provisioner

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

//go:embed schema.graphql
var schemaText string

var schema = sync.OnceValue(func() *ast.Schema {
	return gqlparser.MustLoadSchema(&ast.Source{Name: "schema.graphql", Input: schemaText})
})

// query is a request as GraphQL over HTTP has it.
type query struct {
	Query         string         `json:"query"`
	OperationName string         `json:"operationName"`
	Variables     map[string]any `json:"variables"`
}

// call is one field of a query with its arguments.
type call struct {
	field     *ast.Field
	arguments map[string]any
}

// plan checks a query against the schema, its variables included, and returns
// the fields that it asks for.
func (q query) plan() ([]call, error) {
	document, faults := gqlparser.LoadQueryWithRules(schema(), q.Query, rules.NewDefaultRules())
	if faults != nil {
		return nil, faults
	}
	operation := document.Operations.ForName(q.OperationName)
	if operation == nil {
		return nil, gqlerror.Errorf("operation %s not found", q.OperationName)
	}
	variables, invalid := validator.VariableValues(schema(), operation, q.Variables)
	if invalid != nil {
		return nil, invalid
	}
	var calls []call
	for _, field := range fields(operation.SelectionSet) {
		calls = append(calls, call{field: field, arguments: field.ArgumentMap(variables)})
	}
	return calls, nil
}

// fields returns the fields of a selection, those of fragments included.
func fields(set ast.SelectionSet) []*ast.Field {
	var list []*ast.Field
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			list = append(list, s)
		case *ast.FragmentSpread:
			list = append(list, fields(s.Definition.SelectionSet)...)
		case *ast.InlineFragment:
			list = append(list, fields(s.SelectionSet)...)
		}
	}
	return list
}

// project returns of a value what a selection asks for. What the value does not
// have is null.
func project(value any, set ast.SelectionSet) any {
	switch v := value.(type) {
	case map[string]any:
		answer := map[string]any{}
		for _, f := range fields(set) {
			if f.Name == "__typename" {
				answer[f.Alias] = f.ObjectDefinition.Name
				continue
			}
			answer[f.Alias] = project(v[f.Name], f.SelectionSet)
		}
		return answer
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = project(v[i], set)
		}
		return list
	}
	return value
}

// answer resolves the fields of a query in the name of a tenant.
func (p *Provisioner) answer(calls []call, tenant string) map[string]any {
	data, errs := map[string]any{}, []any{}
	for _, c := range calls {
		value, err := p.resolve(c, tenant)
		if err != nil {
			errs = append(errs, describe(err, c.field.Alias))
			data[c.field.Alias] = nil
			continue
		}
		data[c.field.Alias] = project(value, c.field.SelectionSet)
	}
	document := map[string]any{"data": data}
	if len(errs) > 0 {
		document["errors"] = errs
	}
	return document
}

func describe(err error, path string) map[string]any {
	f := failure{code: 500, reason: "err_internal", message: err.Error()}
	errors.As(err, &f)
	return map[string]any{
		"message": f.message, "path": []any{path},
		"extensions": map[string]any{"error_code": f.code, "error_reason": f.reason, "error_component": "provisioner"},
	}
}

func (p *Provisioner) resolve(c call, tenant string) (any, error) {
	if tenant == "" {
		return nil, badRequest("tenant header is empty")
	}
	id := fmt.Sprint(c.arguments["id"])
	config, _ := c.arguments["config"].(map[string]any)
	switch c.field.Name {
	case "runtimeStatus":
		return p.status(tenant, id)
	case "runtimeOperationStatus":
		return p.operationStatus(tenant, id)
	case "upgradeRuntime":
		return p.upgrade(c.field.Name, "Upgrade", tenant, id, config, func(r *record) { r.kyma = copied(config["kymaConfig"]) })
	case "upgradeShoot":
		return p.upgrade(c.field.Name, "UpgradeShoot", tenant, id, config, func(r *record) {
			cluster := maps.Clone(r.cluster)
			maps.Copy(cluster, copied(config["gardenerConfig"]))
			r.cluster = cluster
		})
	default:
		return nil, badRequest("the simulator does not know %s", c.field.Name)
	}
}

// copied returns an input as the document that is read later.
func copied(input any) map[string]any {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil // It came as JSON.
	}
	var document map[string]any
	if json.Unmarshal(raw, &document) != nil {
		return nil
	}
	return document
}
