package home

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/swell-fleet/swell/internal/auth"
)

// Context is a server under a name of the user's, and how it is reached.
type Context struct {
	Name string `yaml:"name" json:"name"`
	// URL is the address of the server.
	URL string `yaml:"url" json:"url"`
	// CAFile names a file with certificates of authorities that are trusted besides those of the machine, for the server and for its provider.
	CAFile string `yaml:"ca-file,omitempty" json:"caFile,omitempty"`
	// ClientCert and ClientKey name the files of a certificate that the server asks its clients for.
	ClientCert string `yaml:"client-cert,omitempty" json:"clientCert,omitempty"`
	ClientKey  string `yaml:"client-key,omitempty" json:"clientKey,omitempty"`
	// Login is how one logs in; nil before the first login where nothing else was said.
	Login *Login `yaml:"login,omitempty" json:"login,omitempty"`
}

// Login is a client of a provider, and what it asks for. Tokens are kept for each of them.
type Login struct {
	// Issuer is the address of the provider, as it stands in the claim "iss".
	Issuer string `yaml:"issuer" json:"issuer"`
	// ClientID is the client that the program is to the provider.
	ClientID string `yaml:"client-id" json:"clientID"`
	// Scopes are what is asked for; empty before the first login where the provider decides.
	Scopes []string `yaml:"scopes,omitempty" json:"scopes,omitempty"`
}

// contextName is what the name of a context looks like: it is a word on a command line.
var contextName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Check returns all that is wrong with a context, one problem a line.
func (c *Context) Check() error {
	var problems []error
	if !contextName.MatchString(c.Name) {
		problems = append(problems, fmt.Errorf("the name %q does not consist of up to 63 letters, digits, dots, dashes and underscores", c.Name))
	}
	if err := CheckURL(c.URL); err != nil {
		problems = append(problems, err)
	}
	if (c.ClientCert == "") != (c.ClientKey == "") {
		problems = append(problems, errors.New("a client certificate and its key go together"))
	}
	if c.Login != nil {
		problems = append(problems, c.Login.check()...)
		if err := CheckPrivate(c.URL); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// CheckPrivate returns an error when a login would travel to a server for everybody on the way to read.
func CheckPrivate(server string) error {
	if u, err := url.Parse(server); err != nil || !auth.Secure(u) {
		return fmt.Errorf("the server %s is not reached over https, so everybody on the way could use the login (http is accepted for this machine only)", server)
	}
	return nil
}

func (l *Login) check() []error {
	var problems []error
	if err := auth.CheckIssuer(l.Issuer); err != nil {
		problems = append(problems, err)
	}
	if !word(l.ClientID) {
		problems = append(problems, fmt.Errorf("the client ID %q is empty or holds blanks", l.ClientID))
	}
	for _, scope := range l.Scopes {
		if !word(scope) {
			problems = append(problems, fmt.Errorf("the scope %q is empty or holds blanks", scope))
		}
	}
	return problems
}

// word reports whether a text can stand for itself among others.
func word(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
}

// Contexts are the contexts of a user.
type Contexts struct {
	// Current is the name of the context that is used when nothing else is said; empty for none.
	Current string `yaml:"current,omitempty"`
	// List is in the order in which they were added.
	List []Context `yaml:"contexts"`
}

// Find returns the context with a name.
func (c *Contexts) Find(name string) (Context, bool) {
	i := c.index(name)
	if i < 0 {
		return Context{}, false
	}
	return c.List[i], true
}

// Get returns the context with a name, or an error that says which ones there are.
func (c *Contexts) Get(name string) (Context, error) {
	if one, ok := c.Find(name); ok {
		return one, nil
	}
	if len(c.List) == 0 {
		return Context{}, fmt.Errorf("there is no context %q, nor any other; 'swell context add' adds one", name)
	}
	return Context{}, fmt.Errorf("there is no context %q; there are %s", name, strings.Join(c.Names(), ", "))
}

// Of returns the contexts of a server, the current one first.
func (c *Contexts) Of(url string) []Context {
	var found []Context
	for _, one := range c.List {
		switch {
		case !SameServer(one.URL, url):
		case one.Name == c.Current:
			found = slices.Insert(found, 0, one)
		default:
			found = append(found, one)
		}
	}
	return found
}

// Put adds a context, or replaces the one with its name. The first one becomes the current one.
func (c *Contexts) Put(one Context) {
	if i := c.index(one.Name); i >= 0 {
		c.List[i] = one
		return
	}
	c.List = append(c.List, one)
	if len(c.List) == 1 {
		c.Current = one.Name
	}
}

// Remove takes the context with a name away.
func (c *Contexts) Remove(name string) {
	c.List = slices.DeleteFunc(c.List, func(one Context) bool { return one.Name == name })
	if c.Current == name {
		c.Current = ""
	}
}

// Names returns the names of all contexts.
func (c *Contexts) Names() []string {
	names := make([]string, len(c.List))
	for i := range c.List {
		names[i] = c.List[i].Name
	}
	return names
}

func (c *Contexts) index(name string) int {
	return slices.IndexFunc(c.List, func(one Context) bool { return one.Name == name })
}

// check returns all that is wrong with the contexts, and where it stands.
func (c *Contexts) check(where lines) error {
	var problems []error
	for i := range c.List {
		line := 0
		if i < len(where.contexts) {
			line = where.contexts[i]
		}
		place := at(line, fmt.Sprintf("context %d", i+1))
		if err := c.List[i].Check(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", place, err))
		}
		if c.index(c.List[i].Name) < i {
			problems = append(problems, fmt.Errorf("%s: the name %q is taken", place, c.List[i].Name))
		}
	}
	if c.Current != "" && c.index(c.Current) < 0 {
		problems = append(problems, errors.New(at(where.current, fmt.Sprintf("current: there is no context %q", c.Current))))
	}
	return errors.Join(problems...)
}
