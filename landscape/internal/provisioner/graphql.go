package provisioner

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
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

// maxTokens bounds a query, whose parts call for each other as deep as they are
// nested.
const maxTokens = 50_000

// call is one field of a query with its arguments.
type call struct {
	field     *ast.Field
	arguments map[string]any
	variables map[string]any
}

// plan checks a query against the schema, its variables included, and returns
// the fields that it asks for.
func (q query) plan() ([]call, error) {
	document, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: q.Query}, maxTokens)
	if err != nil {
		return nil, err
	}
	if faults := validator.ValidateWithRules(schema(), document, rules.NewDefaultRules()); faults != nil {
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
	for _, field := range fields(operation.SelectionSet, variables) {
		calls = append(calls, call{field: field, arguments: field.ArgumentMap(variables), variables: variables})
	}
	return calls, nil
}

// fields returns the fields of a selection in their order, those of fragments
// included and those left out that a directive does not want. What is asked for
// under one name is asked for once, with all that is selected of it.
func fields(set ast.SelectionSet, variables map[string]any) []*ast.Field {
	var list []*ast.Field
	at := map[string]int{}
	for _, f := range flat(set, variables) {
		index, twice := at[f.Alias]
		if !twice {
			at[f.Alias] = len(list)
			list = append(list, f)
			continue
		}
		merged := *list[index]
		merged.SelectionSet = slices.Concat(merged.SelectionSet, f.SelectionSet)
		list[index] = &merged
	}
	return list
}

func flat(set ast.SelectionSet, variables map[string]any) []*ast.Field {
	var list []*ast.Field
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			if wanted(s.Directives, variables) {
				list = append(list, s)
			}
		case *ast.FragmentSpread:
			if wanted(s.Directives, variables) {
				list = append(list, flat(s.Definition.SelectionSet, variables)...)
			}
		case *ast.InlineFragment:
			if wanted(s.Directives, variables) {
				list = append(list, flat(s.SelectionSet, variables)...)
			}
		}
	}
	return list
}

// wanted says what the directives skip and include decide.
func wanted(directives ast.DirectiveList, variables map[string]any) bool {
	says := func(name string) any {
		if d := directives.ForName(name); d != nil {
			return d.ArgumentMap(variables)["if"]
		}
		return nil
	}
	return says("skip") != true && says("include") != false
}

// project returns of a value what a selection asks for. What the value does not
// have is null.
func project(value any, set ast.SelectionSet, variables map[string]any) any {
	switch v := value.(type) {
	case map[string]any:
		answer := map[string]any{}
		for _, f := range fields(set, variables) {
			if f.Name == typeName {
				answer[f.Alias] = f.ObjectDefinition.Name
				continue
			}
			answer[f.Alias] = project(v[f.Name], f.SelectionSet, variables)
		}
		return answer
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = project(v[i], set, variables)
		}
		return list
	}
	return value
}

// typeName is the field that everything has.
const typeName = "__typename"

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
		data[c.field.Alias] = project(value, c.field.SelectionSet, c.variables)
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
	if c.field.Name == typeName {
		return c.field.ObjectDefinition.Name, nil
	}
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
			change := copied(config["gardenerConfig"])
			maps.DeleteFunc(change, func(_ string, value any) bool { return value == nil })
			maps.Copy(cluster, change)
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
