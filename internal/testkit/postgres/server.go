// Package postgres gives tests a PostgreSQL database of their own: a schema for each test in a server that is started for the test program, from
// the programs that are installed. With SWELL_TEST_POSTGRES set to an address, that server is used instead.
//
// A program whose tests use it stops the server at its end:
//
//	func TestMain(m *testing.M) {
//		goleak.VerifyTestMain(m, goleak.Cleanup(postgres.Exit))
//	}
//
// A program that dies takes its server with it, because the server is watched by a shell that waits for the end of a pipe.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable names the environment variable with the address of a server that is used instead of an own one.
const Variable = "SWELL_TEST_POSTGRES"

// startTimeout bounds how long a server may take until it answers; making its folder alone takes seconds on a busy machine.
const startTimeout = 90 * time.Second

// watch starts a server and kills it when standard input ends, which is when the program that started it stops it or dies. Its arguments are
// the folder, the server, and the server's arguments.
const watch = `
dir=$1; shift
"$@" </dev/null >"$dir/log" 2>&1 &
server=$!
cat >/dev/null
kill -QUIT $server 2>/dev/null
wait $server
rm -rf "$dir"
`

// fast are the settings of a server whose data nobody needs after a crash. They make the tests several times faster.
var fast = []string{"fsync=off", "synchronous_commit=off", "full_page_writes=off"}

// Server is a running PostgreSQL server that listens on a socket in its own folder.
type Server struct {
	// URL is the address of its database, for a user who may do everything.
	URL  string
	stop func() error
}

// Stop kills the server and removes its folder.
func (s *Server) Stop() error { return s.stop() }

var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// sharedURL returns the address of the server of this program and starts it at the first call.
func sharedURL() (string, error) {
	if address := os.Getenv(Variable); address != "" {
		return address, nil
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = Start(false)
	}
	if shared.err != nil {
		return "", shared.err
	}
	return shared.server.URL, nil
}

// Exit stops the server of this program, if one was started, and ends the program with the code. It is the last call of TestMain.
func Exit(code int) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		if err := shared.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// Start starts a server of its own. A durable one waits for the disk as one in production does, for benchmarks.
func Start(durable bool) (_ *Server, err error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := folder(credential)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "swell", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.Dir = dir
	initdb.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, lastLines(out))
	}
	arguments := []string{
		"-c", watch, "watch", dir, filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "max_connections=400", "-c", "shared_buffers=128MB", "-c", "max_wal_size=4GB",
	}
	if !durable {
		for _, setting := range fast {
			arguments = append(arguments, "-c", setting)
		}
	}
	server := exec.Command("/bin/sh", arguments...)
	server.Dir = dir
	// A group of its own keeps a Ctrl-C in the terminal from reaching the server before its tests.
	server.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	input, err := server.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watch the server: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	stop := func() error {
		_ = input.Close()
		if err := server.Wait(); err != nil {
			return fmt.Errorf("stop the server: %w", err)
		}
		return os.RemoveAll(dir)
	}
	address := (&url.URL{Scheme: "postgres", User: url.User("swell"), Path: "/postgres", RawQuery: url.Values{"host": {dir}}.Encode()}).String()
	if err := answers(address); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, errors.Join(fmt.Errorf("the server does not answer: %w: %s", err, lastLines(log)), stop())
	}
	return &Server{URL: address, stop: stop}, nil
}

// answers waits until the server takes connections.
func answers(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := pgx.Connect(ctx, address)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}

// programs finds the folder of the server's programs, in PATH and where Debian puts them; of several versions the newest.
func programs() (string, error) {
	var folders []string
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		folders = append(folders, filepath.Dir(path))
	}
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := len(installed) - 1; i >= 0; i-- {
		folders = append(folders, installed[i])
	}
	for _, folder := range folders {
		if executable(filepath.Join(folder, "postgres")) && executable(filepath.Join(folder, "initdb")) {
			return folder, nil
		}
	}
	return "", errors.New("PostgreSQL is missing: no postgres and initdb in PATH or /usr/lib/postgresql/*/bin; install it (Debian: apt-get install postgresql)")
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

// unprivileged returns the user that the server runs as: PostgreSQL refuses to run as root. It is nil when the tests do not run as root.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU == nil && errG == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}

// folder makes the folder of a server. Its path is short, because the path of a socket may have about a hundred bytes.
func folder(owner *syscall.Credential) (string, error) {
	dir, err := os.MkdirTemp("/tmp", "swell-pg-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the server: %w", err)
	}
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", fmt.Errorf("make a folder for the server: %w", err)
		}
	}
	return dir, nil
}

func lastLines(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "; ")
}
