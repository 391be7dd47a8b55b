package etcd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestSweepRemovesWhatNobodyHolds(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	claimed := func() *folder {
		f, err := newFolder(parent)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(f.path, "data", "member"), 0o700))
		return f
	}
	alive, killed := claimed(), claimed()
	require.NoError(t, killed.lock.Close()) // As when its process ends.

	// What is no folder of a member, or may become one, is left alone.
	others := []string{"sl-etcd-file", "sl-etcd-link", "sl-etcd-unlocked", "sl-etcd-pipe", "another"}
	require.NoError(t, os.WriteFile(filepath.Join(parent, others[0]), nil, 0o600))
	require.NoError(t, os.Symlink(killed.path, filepath.Join(parent, others[1])))
	for _, name := range others[2:] {
		require.NoError(t, os.Mkdir(filepath.Join(parent, name), 0o700))
	}
	require.NoError(t, os.Symlink(filepath.Join(killed.path, lockName), filepath.Join(parent, others[2], lockName)))
	require.NoError(t, unix.Mkfifo(filepath.Join(parent, others[3], "unlocked"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(parent, others[4], lockName), nil, 0o600))

	sweep(parent)
	require.NoDirExists(t, killed.path)
	require.DirExists(t, alive.path)
	for _, name := range others {
		_, err := os.Lstat(filepath.Join(parent, name))
		require.NoError(t, err, name)
	}
	require.NoError(t, alive.remove())
	require.NoDirExists(t, alive.path)
}

func TestAMemberLeavesNothing(t *testing.T) {
	t.Parallel()
	m, err := Start(t.Context())
	require.NoError(t, err)
	_, err = m.Client().Put(t.Context(), "key", "value")
	require.NoError(t, err)
	answer, err := m.Client().Get(t.Context(), "key")
	require.NoError(t, err)
	require.Len(t, answer.Kvs, 1)
	require.False(t, abandoned(m.folder.path), "its process lives")
	require.NoError(t, m.Close())
	require.NoDirExists(t, m.folder.path)
}
