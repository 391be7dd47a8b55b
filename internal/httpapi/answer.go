package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

const jsonType = "application/json"

// answer is what a handler found, before it is written.
type answer struct {
	// status is 200 when it is 0.
	status int
	// body is written as JSON.
	body any
	// header is added to that of the answer.
	header http.Header
}

// writeAnswer writes the answer, or an error when it cannot be written as JSON.
func writeAnswer(w http.ResponseWriter, a answer) error {
	text, err := encode(a.body)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	status := a.status
	if status == 0 {
		status = http.StatusOK
	}
	writeText(w, status, jsonType, text)
	return nil
}

// writeJSON writes a body that is known to have a JSON form.
func writeJSON(w http.ResponseWriter, status int, contentType string, body any) {
	text, err := encode(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte("{}\n")
	}
	writeText(w, status, contentType, text)
}

func writeText(w http.ResponseWriter, status int, contentType string, text []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a caller that has gone away is nobody's error
}

// encode writes JSON as the published clients know it: HTML characters escaped, one line, a newline at the end.
func encode(body any) ([]byte, error) {
	var buffer bytes.Buffer
	if err := json.NewEncoder(&buffer).Encode(body); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}
