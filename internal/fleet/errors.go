package fleet

import (
	"errors"
	"fmt"
)

// Kind classifies an error by what its receiver can do about it. One place per edge turns kinds into HTTP status codes and exit codes.
type Kind uint8

const (
	// KindInternal is a fault of the program or its surroundings that the caller cannot mend.
	KindInternal Kind = iota
	// KindInvalid means that the request cannot be understood or contradicts itself.
	KindInvalid
	// KindNotFound means that the named thing does not exist.
	KindNotFound
	// KindConflict means that the state of the named thing does not allow the request.
	KindConflict
	// KindForbidden means that the caller may not do this.
	KindForbidden
	// KindUnavailable means that a part that is needed does not answer now; the same request may succeed later.
	KindUnavailable
)

// String returns the kind in words.
func (k Kind) String() string {
	switch k {
	case KindInvalid:
		return "invalid"
	case KindNotFound:
		return "not found"
	case KindConflict:
		return "conflict"
	case KindForbidden:
		return "forbidden"
	case KindUnavailable:
		return "unavailable"
	case KindInternal:
		return "internal"
	default:
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
}

// Error is an error with a kind, and with the field of the request that it is about where there is one.
type Error struct {
	Kind Kind
	// Field is the path of the field, such as "targets.include[2].region"; empty when the error is about the whole request.
	Field string
	// Message says what is wrong in words for the caller. It never holds secrets or text of the database.
	Message string
	// Err is the cause; it is not shown to callers.
	Err error
}

// Error returns the field, the message and the cause.
func (e *Error) Error() string {
	s := e.Message
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the sentinel of the error's kind, such as ErrNotFound.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Field == "" && t.Err == nil && t.Kind == e.Kind
}

// Sentinels for errors.Is: an *Error of the same kind matches, whatever its text.
var (
	ErrInvalid     error = &Error{Kind: KindInvalid}
	ErrNotFound    error = &Error{Kind: KindNotFound}
	ErrConflict    error = &Error{Kind: KindConflict}
	ErrForbidden   error = &Error{Kind: KindForbidden}
	ErrUnavailable error = &Error{Kind: KindUnavailable}
)

// ErrFenced is returned by a conditional write whose record was taken over by another holder in the meantime. Who gets it stops and
// writes nothing more.
var ErrFenced = errors.New("the record has a newer holder")

// Invalidf returns an error of KindInvalid about a field.
func Invalidf(field, format string, args ...any) error {
	return &Error{Kind: KindInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// NotFoundf returns an error of KindNotFound.
func NotFoundf(format string, args ...any) error {
	return &Error{Kind: KindNotFound, Message: fmt.Sprintf(format, args...)}
}

// Conflictf returns an error of KindConflict.
func Conflictf(format string, args ...any) error {
	return &Error{Kind: KindConflict, Message: fmt.Sprintf(format, args...)}
}

// Unavailable wraps a cause into an error of KindUnavailable with a message for the caller.
func Unavailable(message string, cause error) error {
	return &Error{Kind: KindUnavailable, Message: message, Err: cause}
}

// KindOf returns the kind of the first *Error in err's chain, and KindInternal when there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}
