// Command verifymodule proves that the product can be installed as a module by someone who has nothing of this
// repository. It packs the last commit as the go command would receive it, offers it through a module proxy in a
// temporary folder, with the usual proxy behind it, and installs cmd/swell from there in an empty folder.
//
//	go run . ROOT
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: verifymodule ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "verifymodule:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	path, err := checkGoMod(root)
	if err != nil {
		return err
	}
	commit, err := readCommit(root)
	if err != nil {
		return err
	}
	if commit.dirty {
		fmt.Printf("note: changes that are not committed are left out; this checks commit %s\n", commit.revision[:12])
	}
	work, err := os.MkdirTemp("", "swell-verifymodule-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	released := module.Version{Path: path, Version: module.PseudoVersion("v0", "", commit.time, commit.revision[:12])}
	if err := writeProxy(filepath.Join(work, "proxy"), root, released, commit); err != nil {
		return fmt.Errorf("pack the module: %w", err)
	}
	return install(work, released)
}

// checkGoMod returns the module's path. A module with replace or exclude lines cannot be installed by its path and version.
func checkGoMod(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", err
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return "", err
	}
	if len(file.Replace) > 0 || len(file.Exclude) > 0 {
		return "", errors.New("go.mod has replace or exclude lines, so nobody could install the module")
	}
	return file.Module.Mod.Path, nil
}

// commit is the state of the repository that gets packed.
type commit struct {
	revision string
	time     time.Time
	dirty    bool
}

func readCommit(root string) (commit, error) {
	line, err := output(root, "git", "log", "-1", "--format=%H %cI")
	if err != nil {
		return commit{}, err
	}
	revision, stamp, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return commit{}, fmt.Errorf("read the time of the commit: %w", err)
	}
	changed, err := output(root, "git", "status", "--porcelain")
	return commit{revision: revision, time: at.UTC(), dirty: changed != ""}, err
}

// writeProxy lays out the files of one version as a module proxy serves them.
func writeProxy(folder, root string, released module.Version, from commit) error {
	escaped, err := module.EscapePath(released.Path)
	if err != nil {
		return err
	}
	versions := filepath.Join(folder, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": released.Version, "Time": from.time})
	if err != nil {
		return err
	}
	goMod, err := output(root, "git", "show", from.revision+":go.mod")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"list":                     released.Version + "\n",
		released.Version + ".info": string(info),
		released.Version + ".mod":  goMod + "\n",
	} {
		if err := os.WriteFile(filepath.Join(versions, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(versions, released.Version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromVCS(archive, released, root, from.revision, ""); err != nil {
		return errors.Join(err, archive.Close())
	}
	size, err := archive.Seek(0, io.SeekEnd)
	if err != nil {
		return errors.Join(err, archive.Close())
	}
	fmt.Printf("packed %s (%d KiB)\n", released, size/1024)
	return archive.Close()
}

// install installs cmd/swell from the proxy below work and runs it once. What the go command keeps of the version in its
// module cache is removed again.
func install(work string, released module.Version) error {
	settings, err := output(work, "go", "env", "-json", "GOPROXY", "GONOSUMDB", "GOMODCACHE")
	if err != nil {
		return err
	}
	var env struct{ GOPROXY, GONOSUMDB, GOMODCACHE string }
	if err := json.Unmarshal([]byte(settings), &env); err != nil {
		return fmt.Errorf("read go env: %w", err)
	}
	defer forget(env.GOMODCACHE, released)

	empty := filepath.Join(work, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		return err
	}
	command := exec.Command("go", "install", released.Path+"/cmd/swell@"+released.Version)
	command.Dir = empty
	command.Env = append(os.Environ(),
		"GOPROXY=file://"+filepath.Join(work, "proxy")+","+env.GOPROXY,
		"GONOSUMDB="+strings.TrimPrefix(env.GONOSUMDB+","+released.Path, ","),
		"GONOPROXY=none", "GOWORK=off", "GOFLAGS=",
		"GOBIN="+filepath.Join(work, "bin"),
	)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("go install: %w", err)
	}
	if _, err := output(empty, filepath.Join(work, "bin", "swell"), "--help"); err != nil {
		return fmt.Errorf("run the installed program: %w", err)
	}
	fmt.Printf("installed %s/cmd/swell@%s in an empty folder\n", released.Path, released.Version)
	return nil
}

// forget removes one version of a module from the module cache, which is kept read-only.
func forget(cache string, released module.Version) {
	escaped, err := module.EscapePath(released.Path)
	if err != nil {
		return
	}
	unpacked := filepath.Join(cache, filepath.FromSlash(escaped)+"@"+released.Version)
	_ = filepath.WalkDir(unpacked, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return err
	})
	_ = os.RemoveAll(unpacked)
	downloaded, _ := filepath.Glob(filepath.Join(cache, "cache", "download", filepath.FromSlash(escaped), "@v", released.Version+".*"))
	for _, file := range downloaded {
		_ = os.Remove(file)
	}
}

// output runs a command and returns what it printed, without the last line break.
func output(folder, name string, arguments ...string) (string, error) {
	command := exec.Command(name, arguments...)
	command.Dir = folder
	var problem strings.Builder
	command.Stderr = &problem
	printed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(arguments, " "), err, strings.TrimSpace(problem.String()))
	}
	return strings.TrimRight(string(printed), "\n"), nil
}
