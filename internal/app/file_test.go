package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pipe puts a pipe that nobody writes to in the place of a file.
func pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(path))
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

// A pipe in place of a file is refused at the start, and leaves the old certificates in force later; neither is waited for.
func TestPipesAreNotReadAsFiles(t *testing.T) {
	t.Parallel()
	a, dir := newAuthority(t, "authority"), t.TempDir()
	files := a.place(dir, "server")
	files.ClientCA = filepath.Join(dir, "ca.crt")
	write(t, files.ClientCA, a.pem)
	c, err := loadCertificates(files, slog.New(slog.DiscardHandler), time.Now)
	require.NoError(t, err)
	before := c.current.Load()
	for _, path := range []string{files.Cert, files.Key, files.ClientCA} {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		pipe(t, path)
		c.reload(t.Context())
		require.Same(t, before, c.current.Load())
		_, err = loadCertificates(files, slog.New(slog.DiscardHandler), time.Now)
		require.ErrorIs(t, err, errNotRegular)
		require.NoError(t, os.Remove(path))
		write(t, path, text)
	}

	path := filepath.Join(dir, "pipe")
	pipe(t, path)
	_, err = loadKubeconfig("gardener.kubeconfig", path, "")
	require.ErrorIs(t, err, errNotRegular)
	require.ErrorContains(t, err, "gardener.kubeconfig: ")
	_, err = Start(t.Context(), settings(t, map[string]string{"maintenance-policy": path}), slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, errNotRegular)
	_, err = readFile(dir)
	require.ErrorIs(t, err, errNotRegular)
}

// Client certificates, keys and tokens that a kubeconfig names are read for as long as the server runs.
func TestAKubeconfigNamesNoPipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe(t, filepath.Join(dir, "pipe"))
	path := filepath.Join(dir, "kubeconfig")
	for text, fine := range map[string]bool{"tokenFile: pipe": false, "client-certificate: pipe, client-key: pipe": false, "token: x": true} {
		write(t, path, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://garden.example"}}]
users: [{name: u, user: {`+text+`}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`))
		_, err := loadKubeconfig("gardener.kubeconfig", path, "")
		if fine {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, errNotRegular, text)
	}
}

func TestFilesAreReadThroughLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), []byte("text"))
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	text, err := readFile(filepath.Join(dir, "link"))
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
}
