package home_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/home"
)

// commented is a file of somebody who writes down what is what.
const commented = `# The servers of the team.
# Ask ann before adding one.

# what commands talk to
current: prod
contexts:
  # everybody's
  - name: prod # careful
    url: "https://swell.example"
    login:
      issuer: https://login.example
      client-id: swell
      scopes: [openid, groups] # no offline_access
  # mine
  - url: https://10.0.0.7:8443
    name: lab
    # renewed every spring
    ca-file: /lab/ca.pem
# the end
`

// after returns what a file holds after a change.
func after(t *testing.T, before string, what func(*home.Contexts)) string {
	t.Helper()
	folder := home.At(t.TempDir())
	require.NoError(t, folder.Write("contexts.yaml", []byte(before)))
	require.NoError(t, change(t, folder, what))
	data, err := folder.Read("contexts.yaml")
	require.NoError(t, err)
	return string(data)
}

func TestCommentsOutliveChanges(t *testing.T) {
	t.Parallel()
	require.Equal(t, commented, after(t, commented, func(*home.Contexts) {}))
	require.Equal(t, strings.Replace(commented, "current: prod", "current: lab", 1), after(t, commented, func(c *home.Contexts) { c.Current = "lab" }))

	added := after(t, commented, func(c *home.Contexts) { c.Put(home.Context{Name: "dev", URL: "http://127.0.0.1:8080"}) })
	require.Equal(t, strings.Replace(commented, "# the end\n", "", 1)+"  - name: dev\n    url: http://127.0.0.1:8080\n", strings.Replace(added, "# the end\n", "", 1))
	require.Contains(t, added, "# the end\n")

	// What is said about a context goes with it; what stands above the key of the file does not.
	removed := after(t, commented, func(c *home.Contexts) { c.Remove("prod") })
	require.Equal(t, `# The servers of the team.
# Ask ann before adding one.

# what commands talk to
contexts:
  # mine
  - url: https://10.0.0.7:8443
    name: lab
    # renewed every spring
    ca-file: /lab/ca.pem
# the end
`, removed)

	logged := after(t, commented, func(c *home.Contexts) {
		one, _ := c.Find("prod")
		one.Login.Scopes = []string{"openid", "email"}
		c.Put(one)
		two, _ := c.Find("lab")
		two.CAFile = ""
		two.Login = &home.Login{Issuer: "https://login.example", ClientID: "lab"}
		c.Put(two)
	})
	require.Contains(t, logged, "      scopes: [openid, email] # no offline_access\n")
	require.Contains(t, logged, "  - name: prod # careful\n    url: \"https://swell.example\"\n")
	require.Contains(t, logged, "    name: lab\n")
	require.Contains(t, logged, "# renewed every spring\n")
	require.NotContains(t, logged, "ca-file")
}

func TestFilesOfOtherForms(t *testing.T) {
	t.Parallel()
	dev := func(c *home.Contexts) { c.Put(home.Context{Name: "dev", URL: "https://dev"}) }
	written := "current: dev\ncontexts:\n  - name: dev\n    url: https://dev\n"
	for before, want := range map[string]string{
		"":                         written,
		"# nothing yet\n":          "# nothing yet\n" + written,
		"# nothing yet":            "# nothing yet\n" + written,
		"contexts: [] # none\n":    "contexts: # none\n  - name: dev\n    url: https://dev\ncurrent: dev\n",
		"contexts: # none\n":       "contexts: # none\n  - name: dev\n    url: https://dev\ncurrent: dev\n",
		"# none\ncontexts:\n":      "# none\ncontexts:\n  - name: dev\n    url: https://dev\ncurrent: dev\n",
		"---\n# none\ncontexts:\n": "# none\ncontexts:\n  - name: dev\n    url: https://dev\ncurrent: dev\n",
	} {
		require.Equal(t, want, after(t, before, dev), before)
	}
	flow := after(t, "contexts: [{name: a, url: https://a}] # all\n", dev)
	require.Equal(t, "contexts: [{name: a, url: 'https://a'}, {name: dev, url: 'https://dev'}] # all\n", flow)
	// An alias whose anchor goes would mean nothing: then the file is written anew.
	anchored := "contexts:\n  # first\n  - &a {name: a, url: https://a, ca-file: &f /f}\n  # second\n  - {name: b, url: https://b, ca-file: *f}\n"
	require.Contains(t, after(t, anchored, dev), "  # second\n  - {name: b, url: 'https://b', ca-file: *f}\n")
	require.Equal(t, "contexts:\n  - name: b\n    url: https://b\n    ca-file: /f\n", after(t, anchored, func(c *home.Contexts) { c.Remove("a") }))
}

// Whatever a file holds that can be read: after a change it means what the change made of it.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(commented), "lab", "new")
	f.Add([]byte("contexts: [{name: a, url: https://a}]"), "a", "a")
	f.Add([]byte("x: &x {name: a}\ncontexts: [{<<: *x, url: https://a}]"), "b", "c")
	f.Fuzz(func(t *testing.T, data []byte, gone, added string) {
		folder := home.At(t.TempDir())
		require.NoError(t, folder.Write("contexts.yaml", data))
		if _, err := folder.Contexts(); err != nil {
			return
		}
		var want home.Contexts
		err := folder.ChangeContexts(t.Context(), func(c *home.Contexts) error {
			c.Remove(gone)
			c.Put(home.Context{Name: added, URL: "https://added"})
			want = *c
			return nil
		})
		if err != nil {
			return
		}
		got, err := folder.Contexts()
		require.NoError(t, err)
		require.Equal(t, want.Current, got.Current)
		require.Equal(t, want.Names(), got.Names())
	})
}

// The lines of a file that are wrong are named.
func TestFaultsOfAFileHaveALine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"current: a\ncontexts:\n  - name: a\n    url: https://a\n  # bad\n  - name: b c\n    url: ftp://b\n": "contexts.yaml: line 6: context 2: the name \"b c\"",
		"contexts:\n  - {name: a, url: https://a}\n  - {name: a, url: https://b}\n":                          "line 3: context 2: the name \"a\" is taken",
		"# mine\n\ncurrent: x\n":                                   "line 3: current: there is no context \"x\"",
		"contexts:\n  - name: a\n    url: https://a\n    tokne: b": "line 4: the key \"tokne\" is not known",
		"contexts:\n  a: b\n":                                      "line 2: a value of the kind map does not fit here",
		"contexts:\n\t- name: a\n":                                 "line 2: found character that cannot start any token",
	} {
		folder := home.At(t.TempDir())
		require.NoError(t, folder.Write("contexts.yaml", []byte(text)))
		_, err := folder.Contexts()
		require.ErrorIs(t, err, home.ErrBroken)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "home.")
	}
}

// Texts of any kind are written so that they are read again, beside what is kept of the file.
func TestEveryChangeIsReadAsItWasMade(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		folder := home.At(tempDir(t))
		require.NoError(t, folder.Write("contexts.yaml", []byte(commented)))
		path := rapid.StringN(0, 12, -1).Draw(t, "path")
		err := folder.ChangeContexts(t.Context(), func(c *home.Contexts) error {
			c.List[1].CAFile = path
			return nil
		})
		if err != nil {
			return
		}
		contexts, err := folder.Contexts()
		require.NoError(t, err)
		require.Equal(t, path, contexts.List[1].CAFile)
	})
}
