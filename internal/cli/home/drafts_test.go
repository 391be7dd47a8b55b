package home_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/cli/home"
)

// names returns what is in a folder.
func names(t *testing.T, folder home.Folder) []string {
	t.Helper()
	entries, err := os.ReadDir(folder.Path(""))
	require.NoError(t, err)
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

// leave leaves files beside x as processes do that are killed while they write it.
func leave(t *testing.T, folder home.Folder, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.WriteFile(folder.Path(name), []byte(text), 0o600))
	}
}

// Whoever writes or removes a file next takes away what a process left that was killed, also one of an older version.
func TestNothingIsLeftOfAWriteThatWasKilled(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		next func(home.Folder) error
		want []string
	}{
		"the next write":  {func(f home.Folder) error { return f.Write("x", []byte("next")) }, []string{".x.tmp", ".xy.12", "x"}},
		"the next remove": {func(f home.Folder) error { _, err := f.Remove("x"); return err }, []string{".x.tmp", ".xy.12"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := home.At(t.TempDir())
			require.NoError(t, folder.Write("x", []byte("text")))
			leave(t, folder, map[string]string{".x.new": "half", ".x.12345": "older", ".x.678": "older", ".x.tmp": "of somebody else", ".xy.12": "of another file"})
			texts, err := folder.Drafts("x")
			require.NoError(t, err)
			require.Len(t, texts, 3)
			require.NoError(t, test.next(folder))
			require.Equal(t, test.want, names(t, folder))
		})
	}
}

func TestADraftIsFoundAndRemovedWithoutItsFile(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	there, err := folder.Has("x")
	require.NoError(t, err)
	require.False(t, there)
	leave(t, folder, map[string]string{".x.new": "text"})
	there, err = folder.Has("x")
	require.NoError(t, err)
	require.True(t, there)
	removed, err := folder.Remove("x")
	require.NoError(t, err)
	require.False(t, removed)
	require.Empty(t, names(t, folder))
	for _, none := range []home.Folder{{}, home.At(filepath.Join(t.TempDir(), "none"))} {
		there, err = none.Has("a/x")
		require.NoError(t, err)
		require.False(t, there)
	}
}

func TestAWholeDraftTakesThePlaceOfItsFile(t *testing.T) {
	t.Parallel()
	whole := func(text []byte) bool { return bytes.HasSuffix(text, []byte("end")) }
	for left, want := range map[string]string{"new, to its end": "new, to its end", "new, to": "old"} {
		elsewhere := home.At(t.TempDir())
		require.NoError(t, elsewhere.Write("x", []byte("old")))
		folder := home.At(t.TempDir())
		require.NoError(t, os.Symlink(elsewhere.Path("x"), folder.Path("x")))
		require.NoError(t, folder.Finish("x", whole))
		leave(t, elsewhere, map[string]string{".x.new": left})
		require.NoError(t, folder.Finish("x", whole))
		data, err := folder.Read("x")
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
}
