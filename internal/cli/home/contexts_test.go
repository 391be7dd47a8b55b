package home_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/home"
)

func change(t *testing.T, folder home.Folder, what func(*home.Contexts)) error {
	t.Helper()
	return folder.ChangeContexts(t.Context(), func(c *home.Contexts) error {
		what(c)
		return nil
	})
}

func TestContextsAreKept(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	contexts, err := folder.Contexts()
	require.NoError(t, err)
	require.Empty(t, contexts.List)

	first := home.Context{Name: "prod", URL: "https://swell.example", Login: &home.Login{Issuer: "https://login.example", ClientID: "swell", Scopes: []string{"openid"}}}
	require.NoError(t, change(t, folder, func(c *home.Contexts) { c.Put(first) }))
	second := home.Context{Name: "dev", URL: "http://127.0.0.1:8080", CAFile: "ca.pem", ClientCert: "a", ClientKey: "b"}
	require.NoError(t, change(t, folder, func(c *home.Contexts) { c.Put(second) }))
	contexts, err = folder.Contexts()
	require.NoError(t, err)
	require.Equal(t, home.Contexts{Current: "prod", List: []home.Context{first, second}}, contexts, "the first one is the current one")

	require.NoError(t, change(t, folder, func(c *home.Contexts) { c.Remove("prod") }))
	contexts, err = folder.Contexts()
	require.NoError(t, err)
	require.Equal(t, home.Contexts{List: []home.Context{second}}, contexts)
}

func TestTheCurrentContextOfAServerComesFirst(t *testing.T) {
	t.Parallel()
	c := home.Contexts{Current: "b", List: []home.Context{{Name: "a", URL: "https://x/"}, {Name: "b", URL: "HTTPS://X"}, {Name: "c", URL: "https://y"}}}
	var names []string
	for _, one := range c.Of("https://x/") {
		names = append(names, one.Name)
	}
	require.Equal(t, []string{"b", "a"}, names)
	require.Empty(t, c.Of("https://z"))
}

func TestAChangeThatCannotBeKeptChangesNothing(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	good := home.Context{Name: "prod", URL: "https://swell.example"}
	require.NoError(t, change(t, folder, func(c *home.Contexts) { c.Put(good) }))
	for text, bad := range map[string]home.Context{
		`the name "a b"`:                 {Name: "a b", URL: good.URL},
		`the name "-x"`:                  {Name: "-x", URL: good.URL},
		`"swell.example"`:                {Name: "x", URL: "swell.example"},
		"user name or a password":        {Name: "x", URL: "https://a:secret@swell.example"},
		"neither query nor fragment":     {Name: "x", URL: "https://swell.example?a=b"},
		"go together":                    {Name: "x", URL: good.URL, ClientCert: "a"},
		`the issuer "http://login.corp"`: {Name: "x", URL: good.URL, Login: &home.Login{Issuer: "http://login.corp", ClientID: "swell"}},
		`the client ID "a b"`:            {Name: "x", URL: good.URL, Login: &home.Login{Issuer: "https://login.corp", ClientID: "a b"}},
		"is not reached over https":      {Name: "x", URL: "http://swell.corp", Login: &home.Login{Issuer: "https://login.corp", ClientID: "a"}},
		`the scope ""`:                   {Name: "x", URL: good.URL, Login: &home.Login{Issuer: "https://login.corp", ClientID: "a", Scopes: []string{""}}},
	} {
		err := change(t, folder, func(c *home.Contexts) { c.Put(bad) })
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "secret")
	}
	failure := errors.New("no")
	require.ErrorIs(t, folder.ChangeContexts(t.Context(), func(c *home.Contexts) error {
		c.Remove("prod")
		return failure
	}), failure)
	contexts, err := folder.Contexts()
	require.NoError(t, err)
	require.Equal(t, []home.Context{good}, contexts.List)
}

func TestAFileThatIsNotUnderstoodIsNotTakenForEmpty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"contexts: [": "contexts.yaml", "context: []": "context", "current: x": `no context "x"`, "contexts: []\n---\n": "line 2: a second document begins",
		"contexts: [{name: a, url: https://a}, {name: a, url: https://b}]": `"a" is taken`,
		"contexts: [{name: a}]": "context 1", "contexts: [{name: a, url: https://a, tokne: b}]": "tokne", "- a": "contexts.yaml",
	} {
		folder := home.At(t.TempDir())
		require.NoError(t, folder.Write("contexts.yaml", []byte(text)))
		_, err := folder.Contexts()
		require.ErrorContains(t, err, want)
		require.Error(t, change(t, folder, func(c *home.Contexts) { c.Put(home.Context{Name: "x", URL: "https://x"}) }))
		data, err := folder.Read("contexts.yaml")
		require.NoError(t, err)
		require.Equal(t, text, string(data), "it is not overwritten")
	}
}

func TestAllCanChangeContextsAtTheSameTime(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			if err := change(t, folder, func(c *home.Contexts) { c.Put(home.Context{Name: fmt.Sprintf("c-%d", i), URL: "https://x"}) }); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	contexts, err := folder.Contexts()
	require.NoError(t, err)
	require.Len(t, contexts.List, 20)
}

// What is kept is what is read, and what cannot be read again is not kept.
func TestEveryContextIsReadAsItWasKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 12, -1)
		url := rapid.OneOf(rapid.SampledFrom([]string{"https://swell.example", "http://[::1]:1/a"}), text)
		one := home.Context{
			Name: rapid.OneOf(rapid.SampledFrom([]string{"a", "b.c-d_e"}), text).Draw(t, "name"), URL: url.Draw(t, "url"), CAFile: text.Draw(t, "ca"),
		}
		if rapid.Bool().Draw(t, "login") {
			one.Login = &home.Login{Issuer: rapid.SampledFrom([]string{"https://login.example", "x"}).Draw(t, "issuer"), ClientID: text.Draw(t, "client")}
			if rapid.Bool().Draw(t, "scopes") {
				one.Login.Scopes = rapid.SliceOfN(text, 1, 3).Draw(t, "list")
			}
		}
		folder := home.At(tempDir(t))
		err := folder.ChangeContexts(t.Context(), func(c *home.Contexts) error {
			c.Put(one)
			return nil
		})
		if err != nil {
			return
		}
		contexts, err := folder.Contexts()
		require.NoError(t, err)
		require.Equal(t, []home.Context{one}, contexts.List)
	})
}

func FuzzContexts(f *testing.F) {
	f.Add([]byte("current: a\ncontexts:\n- name: a\n  url: https://a\n"))
	f.Add([]byte("contexts: [{name: a, url: https://a, login: {issuer: https://b, client-id: c, scopes: [openid]}}]"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		folder := home.At(t.TempDir())
		require.NoError(t, folder.Write("contexts.yaml", data))
		contexts, err := folder.Contexts()
		if err != nil {
			return
		}
		for i := range contexts.List {
			require.NoError(t, contexts.List[i].Check())
		}
	})
}
