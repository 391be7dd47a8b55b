// Package dtotest checks that types have the JSON form that their golden files show, in both directions.
package dtotest
