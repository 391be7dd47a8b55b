package dtotest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Filled returns a value of the type in which every exported field, however deep, differs from its zero value. Texts name their field,
// numbers and times go up from field to field, lists have two elements and maps one. The same type gives the same value.
func Filled[T any](t testing.TB) T {
	t.Helper()
	var value T
	f := &filler{t: t}
	f.fill(reflect.ValueOf(&value).Elem(), "value")
	return value
}

type filler struct {
	t testing.TB
	n int
}

func (f *filler) next() int {
	f.n++
	return f.n
}

func (f *filler) fill(v reflect.Value, name string) {
	f.t.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Date(2024, time.May, 15, 12, 0, f.next(), 0, time.UTC)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d", name, f.next()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.next()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.next()) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), name)
		}
	case reflect.Map:
		key, element := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, name)
		f.fill(element, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, element)
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.IsExported() || tag == "-" {
				continue
			}
			if tag == "" {
				tag = field.Name
			}
			f.fill(v.Field(i), tag)
		}
	default:
		f.t.Fatalf("fill %s: fields of kind %s are not known", name, v.Kind())
	}
}
