package provisioner

import (
	"errors"
	"io"
	"net/http"
)

// maxAnswer is how much of an answer is read, in bytes: the configuration of a runtime with all its components takes some 100 kB.
const maxAnswer = 8 << 20

var errHuge = errors.New("the Provisioner's answer is larger than 8 MiB")

// accountDoer sends requests in the name of an account and bounds their answers.
type accountDoer struct {
	client     *http.Client
	tenant     string
	subAccount string
}

// Do sends one request.
func (d *accountDoer) Do(req *http.Request) (*http.Response, error) {
	req.Header.Set("tenant", d.tenant)
	if d.subAccount != "" {
		req.Header.Set("sub-account", d.subAccount)
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &bounded{body: resp.Body, left: maxAnswer}
	return resp, nil
}

// bounded fails instead of reading more than is left.
type bounded struct {
	body io.ReadCloser
	left int
}

// Read reads what is left at most.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHuge
	}
	n, err := b.body.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// Close closes the body.
func (b *bounded) Close() error { return b.body.Close() }
