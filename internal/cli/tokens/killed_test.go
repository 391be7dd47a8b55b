package tokens_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
	"github.com/swell-fleet/swell/internal/cli/tokens"
)

// left leaves tokens beside those of the login as a process does that was killed before they took their place.
func left(t *testing.T, folder home.Folder, suffix string, text []byte) {
	t.Helper()
	files, err := filepath.Glob(folder.Path("tokens/*.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(files[0]), "."+filepath.Base(files[0])+suffix), text, 0o600))
}

// lying returns the files that are there, locks apart.
func lying(t *testing.T, folder home.Folder) []string {
	t.Helper()
	entries, err := os.ReadDir(folder.Path("tokens"))
	require.NoError(t, err)
	found := []string{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".lock") {
			found = append(found, entry.Name())
		}
	}
	return found
}

func text(t *testing.T, of tokens.Tokens) []byte {
	t.Helper()
	data, err := json.Marshal(of)
	require.NoError(t, err)
	return data
}

// A process that renewed the login and was killed before the new tokens took their place had the only ones that are still good.
func TestARenewalThatWasKilledIsNotLost(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	folder := home.At(t.TempDir())
	p.kept(t, folder)
	renewed := tokens.Tokens{
		Login: p.login(), Subject: "user-1", Servers: []string{place}, IDToken: p.Token(nil), RefreshToken: "refresh-1",
		IssuedAt: noon.Add(2 * time.Hour), Expiry: noon.Add(3 * time.Hour),
	}
	left(t, folder, ".new", text(t, renewed))
	p.clock.Set(2 * time.Hour)
	token, err := p.session(t, folder).Token(t.Context())
	require.NoError(t, err)
	require.Equal(t, renewed.IDToken, token)
	require.Zero(t, p.renewals())
	require.Len(t, lying(t, folder), 1)
}

// Giving a login up, or replacing it, brings all refresh tokens that lie about, and leaves none of them.
func TestAllThatLiesAboutIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		give func(*provider, home.Folder) ([]tokens.Tokens, error)
		rest int
	}{
		"given up": {func(p *provider, folder home.Folder) ([]tokens.Tokens, error) {
			return tokens.Take(t.Context(), folder, p.login())
		}, 0},
		"replaced": {func(p *provider, folder home.Folder) ([]tokens.Tokens, error) {
			return tokens.Replace(t.Context(), folder, tokens.Tokens{Login: p.login(), Subject: "user-1", IDToken: "next"})
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t)
			folder := home.At(t.TempDir())
			p.kept(t, folder)
			left(t, folder, ".new", text(t, tokens.Tokens{IDToken: "a", RefreshToken: "refresh-1"}))
			left(t, folder, ".123456", text(t, tokens.Tokens{IDToken: "b", RefreshToken: "refresh-2"}))
			left(t, folder, ".7", []byte(`{"idToken":"cut`))
			old, err := test.give(p, folder)
			require.NoError(t, err)
			var got []string
			for _, one := range old {
				require.Equal(t, p.login(), one.Login)
				got = append(got, one.RefreshToken)
			}
			require.ElementsMatch(t, []string{"refresh-0", "refresh-1", "refresh-2"}, got)
			require.Len(t, lying(t, folder), test.rest)
		})
	}
}

// What is left of a first login that was killed, whole or in part, goes, too.
func TestWhatIsLeftOfAKilledLoginGoes(t *testing.T) {
	t.Parallel()
	for _, part := range []bool{false, true} {
		p := newProvider(t)
		folder := home.At(t.TempDir())
		p.kept(t, folder)
		whole := text(t, tokens.Tokens{IDToken: "a", RefreshToken: "refresh-1"})
		if part {
			whole = whole[:len(whole)-1]
		}
		left(t, folder, ".new", whole)
		require.NoError(t, os.Remove(folder.Path("tokens/"+lying(t, folder)[1])))
		old, err := tokens.Take(t.Context(), folder, p.login())
		require.NoError(t, err)
		require.Equal(t, part, len(old) == 0)
		require.Empty(t, lying(t, folder))
	}
}
