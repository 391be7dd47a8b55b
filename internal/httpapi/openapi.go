package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object whose keys are written in alphabetical order.
type object = map[string]any

// openAPI makes the OpenAPI 3.1 document out of the table of routes.
func openAPI(options Options) object {
	schemas := newSchemas()
	paths := map[string]object{}
	for _, route := range routes {
		path := options.BasePath + route.pattern
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(route.method)] = operationOf(route, schemas, options)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title":   "Swell",
			"version": options.Version,
			"summary": "Upgrades fleets of managed Kyma runtimes.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"paths": paths,
		"components": object{
			"schemas": schemas.all,
			"securitySchemes": object{"bearer": object{
				"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
				"description": "An ID token of the configured issuer. A server without one serves callers on its own machine only and needs no token.",
			}},
		},
		"security": []any{},
	}
}

// everywhere are the statuses that every route with a login may answer with.
var everywhere = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}

func operationOf(route route, schemas *schemas, options Options) object {
	operation := object{"operationId": route.id, "summary": route.summary, "x-role": string(route.role)}
	if route.about != "" {
		operation["description"] = route.about
	}
	errors := slices.Clone(route.errors)
	if route.role == RoleNone {
		operation["security"] = []any{}
	} else {
		operation["security"] = []any{object{"bearer": []any{}}}
		errors = append(errors, everywhere...)
	}
	var parameters []any
	for segment := range strings.SplitSeq(route.pattern, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			parameters = append(parameters, object{
				"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"},
			})
		}
	}
	for _, p := range route.query {
		parameters = append(parameters, parameterOf(p, options))
	}
	if route.query != nil && !slices.Contains(errors, http.StatusBadRequest) {
		errors = append(errors, http.StatusBadRequest)
	}
	if route.keyed {
		parameters = append(parameters, object{
			"name": idempotent, "in": "header", "description": "Names the request, so that it can be made again safely.",
			"schema": object{"type": "string", "minLength": 1, "maxLength": 255},
		})
	}
	if parameters != nil {
		operation["parameters"] = parameters
	}
	if route.body != nil {
		content := object{}
		for _, media := range route.body.media {
			content[media] = object{"schema": schemas.of(route.body.schema, request)}
		}
		operation["requestBody"] = object{"required": !route.body.optional, "content": content}
	}
	operation["responses"] = responsesOf(route, schemas, errors)
	return operation
}

func parameterOf(p parameter, options Options) object {
	schema := object{"type": string(p.kind)}
	switch {
	case p.most > 0:
		schema["minimum"], schema["maximum"], schema["default"] = 1, p.most, p.most
	case p.name == pageSizeParam:
		schema["minimum"], schema["maximum"], schema["default"] = 1, options.MaxPageSize, options.PageSize
	case p.kind == numberParam:
		schema["minimum"], schema["default"] = 1, 1
	}
	if p.words != nil {
		schema["enum"] = p.words
	}
	if p.pattern != "" {
		schema["pattern"] = p.pattern
	}
	if p.repeated {
		schema = object{"type": "array", "items": schema}
	}
	return object{"name": p.name, "in": "query", "description": p.about, "schema": schema}
}

func responsesOf(route route, schemas *schemas, errors []int) object {
	status := route.status
	if status == 0 {
		status = http.StatusOK
	}
	success := object{"description": http.StatusText(status)}
	if route.answer != nil {
		success["content"] = object{jsonType: object{"schema": schemas.of(route.answer, response)}}
	} else {
		success["content"] = object{route.media: object{}}
	}
	responses := object{strconv.Itoa(status): success}
	for _, status := range errors {
		media := object{problemType: object{"schema": schemas.of(Problem{}, response)}}
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": media}
	}
	if route.id == "ready" {
		responses["503"] = object{"description": "Not ready", "content": success["content"]}
	}
	return responses
}

// encodeIndented writes the document so that a person can read it and a diff shows what changed.
func encodeIndented(document object) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("encode OpenAPI document: %w", err)
	}
	return buffer.Bytes(), nil
}
