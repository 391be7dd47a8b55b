package apiclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxReason is how much of the server's reason is kept, in bytes.
	maxReason = 4 << 10
	// maxReasonBody is how much of an answer is searched for the reason. A problem document may be longer than its detail.
	maxReasonBody = 64 << 10
)

// Failure is an answer with an unexpected status. It is no error itself: the public packages have an error type with the same fields.
type Failure struct {
	// Method is the HTTP method of the request.
	Method string
	// URL is the full address of the request, without user name and password.
	URL string
	// Status is the HTTP status code of the answer.
	Status int
	// Reason is what the server said about it, at most 4 KiB on one line; empty when it said nothing.
	Reason string
}

// String puts a failure into one line. The public error types use it as their text.
func (f Failure) String() string {
	text := fmt.Sprintf("%s %s: status %d", f.Method, shorten(f.URL), f.Status)
	if name := http.StatusText(f.Status); name != "" {
		text += " " + name
	}
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

// shorten keeps addresses with long filters readable in messages.
func shorten(address string) string {
	const limit = 512
	if len(address) <= limit {
		return address
	}
	return strings.ToValidUTF8(address[:limit], "") + "..."
}

// reasonOf finds the server's reason in the body of an answer: a member of a JSON problem document, or the text itself.
func reasonOf(body []byte) string {
	if reason := jsonReason(body); reason != "" {
		return clean(reason)
	}
	return clean(string(body))
}

// jsonReason returns the first text among the usual members, also of a nested error object.
func jsonReason(body []byte) string {
	if !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) {
		return ""
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return ""
	}
	for _, name := range []string{"detail", "message", "error", "description", "title"} {
		var text string
		if err := json.Unmarshal(members[name], &text); err == nil {
			if strings.TrimSpace(text) != "" {
				return text
			}
			continue
		}
		var nested struct{ Message, Description string }
		if err := json.Unmarshal(members[name], &nested); err == nil {
			if nested.Message != "" {
				return nested.Message
			}
			if nested.Description != "" {
				return nested.Description
			}
		}
	}
	return ""
}

// clean puts a foreign text on one line that cannot steer a terminal or a log, and cuts it to its maximum.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxReason {
		return text
	}
	end := maxReason
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
