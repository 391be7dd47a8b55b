// Package httpapi serves the REST API: it reads requests strictly, asks the domain, and writes answers in the published form.
//
// The routes are a table (see routes.go). The OpenAPI document, the roles and the tests are all taken from it. Every body goes through one
// strict decoder (package strictjson), and every error becomes a problem document in one place (problem.go).
package httpapi
