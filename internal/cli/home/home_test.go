package home_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/swell-fleet/swell/internal/cli/home"
)

func TestFilesArePrivateAndWhole(t *testing.T) {
	t.Parallel()
	folder := home.At(filepath.Join(t.TempDir(), "a", "swell"))
	_, err := folder.Read("tokens/x.json")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, folder.Write("tokens/x.json", []byte("first and long")))
	require.NoError(t, folder.Write("tokens/x.json", []byte("second")))
	data, err := folder.Read("tokens/x.json")
	require.NoError(t, err)
	require.Equal(t, "second", string(data))
	for path, want := range map[string]fs.FileMode{folder.Path(""): 0o700, folder.Path("tokens"): 0o700, folder.Path("tokens/x.json"): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), path)
	}
	entries, err := os.ReadDir(folder.Path("tokens"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left lying about")
}

func TestAFileThatOthersCanReadIsMadePrivate(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	require.NoError(t, folder.Write("x", []byte("text")))
	require.NoError(t, os.Chmod(folder.Path("x"), 0o644))
	_, err := folder.ReadSecret("x")
	require.NoError(t, err)
	info, err := os.Stat(folder.Path("x"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
}

// Files may stand for others elsewhere, as in a repository of settings; what is written and removed is what they stand for.
func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "contexts")
	folder := home.At(t.TempDir())
	require.NoError(t, os.WriteFile(elsewhere, []byte("old"), 0o600))
	require.NoError(t, os.Symlink(elsewhere, folder.Path("x")))
	require.NoError(t, folder.Write("x", []byte("new")))
	data, err := os.ReadFile(elsewhere)
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	removed, err := folder.Remove("x")
	require.NoError(t, err)
	require.True(t, removed)
	require.NoFileExists(t, elsewhere)
}

func TestWhatIsNoFileIsNotRead(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	require.NoError(t, os.Mkdir(folder.Path("folder"), 0o700))
	require.NoError(t, os.Symlink("/dev/zero", folder.Path("device")))
	for _, name := range []string{"folder", "device"} {
		_, err := folder.Read(name)
		require.ErrorContains(t, err, "is no file")
	}
	require.NoError(t, os.Mkdir(folder.Path("tokens"), 0o777))
	require.NoError(t, os.Chmod(folder.Path("tokens"), 0o777))
	require.NoError(t, folder.Write("tokens/x", nil))
	info, err := os.Stat(folder.Path("tokens"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, folder.Try(t.Context()))
	require.ErrorIs(t, home.Folder{}.Try(t.Context()), home.ErrNone)
}

func TestRemoveSaysWhetherThereWasAFile(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	require.NoError(t, folder.Write("x", nil))
	for _, want := range []bool{true, false} {
		removed, err := folder.Remove("x")
		require.NoError(t, err)
		require.Equal(t, want, removed)
	}
}

func TestALockKeepsOthersAway(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	require.NoError(t, folder.Write("count", []byte("0")))
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			unlock, err := folder.Lock(t.Context(), "count")
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			data, err := folder.Read("count")
			var n int
			if _, scanErr := fmt.Sscan(string(data), &n); err != nil || scanErr != nil {
				t.Error(err, scanErr)
			}
			if err := folder.Write("count", []byte(fmt.Sprint(n+1))); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	data, err := folder.Read("count")
	require.NoError(t, err)
	require.Equal(t, "20", string(data))
}

func TestWaitingForALockEndsWithItsContext(t *testing.T) {
	t.Parallel()
	folder := home.At(t.TempDir())
	unlock, err := folder.Lock(t.Context(), "x")
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = folder.Lock(ctx, "x")
	require.ErrorIs(t, err, context.Canceled)
}

func TestTheVariableNamesTheFolder(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/here/x", home.Of(func(name string) string {
		require.Equal(t, "SWELL_HOME", name)
		return "/here"
	}).Path("x"))
	require.True(t, strings.HasSuffix(home.Of(func(string) string { return "" }).Path("x"), "/swell/x"))
}

func TestWithoutAHomeNothingIsKept(t *testing.T) {
	t.Parallel()
	var none home.Folder
	_, err := none.Read("x")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, none.Write("x", nil), home.ErrNone)
	_, err = none.Lock(t.Context(), "x")
	require.ErrorIs(t, err, home.ErrNone)
	removed, err := none.Remove("x")
	require.NoError(t, err)
	require.False(t, removed)
}

// tempDir is t.TempDir for a property.
func tempDir(t *rapid.T) string {
	path, err := os.MkdirTemp("", "swell-home-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	return path
}
