package strictjson

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/swell-fleet/swell/internal/fleet"
)

// Unmarshaler is implemented by types that read their own value. It is not called for null.
type Unmarshaler interface {
	// UnmarshalStrict sets the receiver. Its errors should come from Value.Errorf, so that they name the place.
	UnmarshalStrict(v Value) error
}

// Unmarshal decodes one JSON object into the struct that dst points to. Keys that are absent or null leave their field as it is. Errors about
// the document are *Error; any other error means that dst has a type that the package does not know.
func Unmarshal(data []byte, dst any) error {
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decode JSON: %T is not a pointer to a struct", dst)
	}
	document, err := parse(data)
	if err != nil {
		return err
	}
	if document.Kind != Object {
		return document.Errorf("the body is %s and not an object", document.Kind)
	}
	return decode(document, target.Elem())
}

var timeType = reflect.TypeFor[time.Time]()

func decode(v Value, target reflect.Value) error {
	if v.Kind == Null {
		return nil
	}
	t := target.Type()
	if own, ok := target.Addr().Interface().(Unmarshaler); ok {
		return own.UnmarshalStrict(v)
	}
	if t == timeType {
		return decodeTime(v, target)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return decodePointer(v, target)
	case reflect.Struct:
		return decodeStruct(v, target)
	case reflect.Slice:
		return decodeSlice(v, target)
	case reflect.String:
		if v.Kind != String {
			return mismatch(v, "a string")
		}
		target.SetString(v.Text)
		return nil
	case reflect.Bool:
		if v.Kind != Bool {
			return mismatch(v, "true or false")
		}
		target.SetBool(v.Text == "true")
		return nil
	case reflect.Int, reflect.Int64:
		if v.Kind != Number {
			return mismatch(v, "a whole number")
		}
		n, err := strconv.ParseInt(v.Text, 10, t.Bits())
		if err != nil {
			return v.Errorf("%s is not a whole number between %d and %d", quote(v.Text), minInt(t.Bits()), -(minInt(t.Bits()) + 1))
		}
		target.SetInt(n)
		return nil
	default:
		return fmt.Errorf("decode JSON: no rule for the type %s of %s", t, v.Path)
	}
}

func minInt(bits int) int64 { return -1 << (bits - 1) }

func mismatch(v Value, want string) error {
	return v.Errorf("is %s and not %s", v.Kind, want)
}

// decodePointer makes the pointer's target only when there is a value, so that an empty time stays nil.
func decodePointer(v Value, target reflect.Value) error {
	if target.Type().Elem() == timeType && v.Kind == String && v.Text == "" {
		return nil
	}
	value := reflect.New(target.Type().Elem())
	if err := decode(v, value.Elem()); err != nil {
		return err
	}
	target.Set(value)
	return nil
}

func decodeSlice(v Value, target reflect.Value) error {
	if v.Kind != List {
		return mismatch(v, "a list")
	}
	list := reflect.MakeSlice(target.Type(), len(v.items), len(v.items))
	for i, item := range v.items {
		if item.Kind == Null {
			return item.Errorf("is null")
		}
		if err := decode(item, list.Index(i)); err != nil {
			return err
		}
	}
	target.Set(list)
	return nil
}

func decodeTime(v Value, target reflect.Value) error {
	if v.Kind != String {
		return mismatch(v, "a time as 2030-01-02T22:00:00Z")
	}
	if v.Text == "" {
		return nil
	}
	at, ok := fleet.ParseTime(v.Text)
	if !ok {
		return v.Errorf("%s is not a time as 2030-01-02T22:00:00Z", quote(v.Text))
	}
	target.Set(reflect.ValueOf(at))
	return nil
}

func decodeStruct(v Value, target reflect.Value) error {
	if v.Kind != Object {
		return mismatch(v, "an object")
	}
	fields := fieldsOf(target.Type())
	for _, m := range v.members {
		index, ok := fields.index[m.name]
		if !ok {
			return unknownKey(m.value, m.name, fields)
		}
		if err := decode(m.value, target.Field(index)); err != nil {
			return err
		}
	}
	return nil
}

// unknownKey says that a key is not known, and which one was probably meant.
func unknownKey(v Value, name string, fields *structFields) error {
	for _, known := range fields.names {
		if strings.EqualFold(known, name) {
			return v.Errorf("is not known in this letter case; the name is %s", quote(known))
		}
	}
	return v.Errorf("is not known here; known are %s", strings.Join(fields.names, ", "))
}

// structFields are the keys of a struct.
type structFields struct {
	names []string
	index map[string]int
}

// fieldCache holds the keys of the structs that were decoded before.
var fieldCache = struct {
	sync.RWMutex
	types map[reflect.Type]*structFields
}{types: map[reflect.Type]*structFields{}}

// fieldsOf returns the keys of a struct, which are the names in its json tags.
func fieldsOf(t reflect.Type) *structFields {
	fieldCache.RLock()
	fields := fieldCache.types[t]
	fieldCache.RUnlock()
	if fields != nil {
		return fields
	}
	fields = &structFields{index: map[string]int{}}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" || !t.Field(i).IsExported() {
			continue
		}
		fields.names = append(fields.names, name)
		fields.index[name] = i
	}
	fieldCache.Lock()
	fieldCache.types[t] = fields
	fieldCache.Unlock()
	return fields
}
