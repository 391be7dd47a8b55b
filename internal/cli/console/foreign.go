package console

// foreign is an error with words of somebody else.
type foreign struct{ err error }

// Foreign returns an error whose text others have a part in, such as a Kubernetes API server or its certificate: it is cleaned and stands on one line. What
// the error is does not change.
func Foreign(err error) error {
	if err == nil {
		return nil
	}
	return &foreign{err}
}

// Error returns the cleaned text.
func (f *foreign) Error() string { return Clean(f.err.Error()) }

// Unwrap returns what happened.
func (f *foreign) Unwrap() error { return f.err }
