package strictjson

import (
	"fmt"
	"strconv"
	"strings"
)

// Error says what is wrong with a document, and where.
type Error struct {
	// Path is the place, such as "targets.include[2].region"; empty means the document as a whole.
	Path string
	// Message says what is wrong there.
	Message string
}

// Error returns the path and the message.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

func errorAt(path, format string, args ...any) error {
	return &Error{Path: path, Message: fmt.Sprintf(format, args...)}
}

// maxQuoted is how many bytes of the document one error repeats.
const maxQuoted = 100

// quote makes a piece of the document fit for an error.
func quote(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return strconv.Quote(s)
}

// member is the path of a key of an object.
func member(path, key string) string {
	if len(key) > maxQuoted {
		key = strings.ToValidUTF8(key[:maxQuoted], "") + "…"
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == '.' || r == '[' || r == '"' || !strconv.IsPrint(r) }) || key == "" {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// element is the path of an element of a list.
func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
