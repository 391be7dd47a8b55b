package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

const formType = "application/x-www-form-urlencoded"

// maxDrained is how much of a body that is too large is taken and thrown away, in bytes.
const maxDrained = 32 << 20

// mediaType returns the type of the body, and refuses one in another encoding than plain UTF-8. A request without a content type has an empty one.
func mediaType(r *http.Request) (string, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "", unsupported("the body is encoded as " + quote(encoding) + "; send it as it is")
	}
	header := r.Header.Values("Content-Type")
	if len(header) == 0 {
		return "", nil
	}
	if len(header) > 1 {
		return "", unsupported("the content type is given more than once")
	}
	media, params, err := mime.ParseMediaType(header[0])
	if err != nil {
		return "", unsupported("the content type " + quote(header[0]) + " cannot be read")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "us-ascii") {
		return "", unsupported("the charset " + quote(charset) + " is not supported; send UTF-8")
	}
	return media, nil
}

func unsupported(message string) error {
	return &statusError{status: http.StatusUnsupportedMediaType, message: message}
}

// readBody reads a body of one of the given media types, up to a number of bytes. A request without a content type counts as JSON.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, accepted ...string) (media string, body []byte, err error) {
	if media, err = mediaType(r); err != nil {
		return "", nil, err
	}
	if media == "" {
		media = jsonType
	}
	known := false
	for _, a := range accepted {
		known = known || media == a
	}
	if !known {
		return "", nil, unsupported("the content type is " + quote(media) + "; send " + strings.Join(accepted, " or "))
	}
	tooLarge := func() (string, []byte, error) {
		// Closed while it still sends, the caller would see a broken connection instead of the answer.
		_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		return "", nil, &statusError{status: http.StatusRequestEntityTooLarge, message: fmt.Sprintf("the body is larger than %d bytes", limit)}
	}
	if r.ContentLength > limit {
		return tooLarge()
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge()
	}
	if err != nil {
		return "", nil, &statusError{status: http.StatusBadRequest, message: "the body could not be read to its end", cause: err}
	}
	return media, body, nil
}

// readForm takes a form apart and refuses fields that are not known.
func readForm(body []byte, known ...string) (url.Values, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, badRequest("", "the form cannot be read: "+err.Error())
	}
	for name, values := range form {
		found := false
		for _, k := range known {
			found = found || name == k
		}
		if !found {
			return nil, badRequest(printable(name), "is not known here; known are "+strings.Join(known, ", "))
		}
		for _, value := range values {
			if !isText(value) {
				return nil, badRequest(name, "is not valid text")
			}
		}
	}
	return form, nil
}
