package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the program as a user does, each script against a server of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			server, address, err := newAnswers(env.WorkDir)
			if err != nil {
				return err
			}
			env.Defer(server.close)
			env.Values[serverKey{}] = server
			env.Setenv("SWELL_URL", address)
			env.Setenv("SWELL_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"asked":  asked,
			"asking": asking,
			"forget": forget,
		},
	})
}

// exits runs a command line and checks its exit code: exits 3 swell orchestrations o-1 watch.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARGS...]")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, wanted %s", code, args[0])
	}
}

// asked checks the requests that the server has got, one line each, and forgets them: asked FILE.
func asked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: asked [FILE]")
	}
	want := ""
	if len(args) == 1 {
		want = ts.ReadFile(args[0])
	}
	path := ts.MkAbs("requests")
	got := ts.ReadFile(path)
	if got != want {
		ts.Fatalf("the server was asked\n%swanted\n%s", got, want)
	}
	forget(ts, false, nil)
}

// forget forgets the requests that the server has got.
func forget(ts *testscript.TestScript, _ bool, _ []string) {
	if err := os.Truncate(ts.MkAbs("requests"), 0); err != nil {
		ts.Fatalf("%s", fmt.Errorf("forget the requests: %w", err))
	}
}

// asking waits until the server gets a request that begins with some text: asking GET /orchestrations/o-1.
func asking(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: asking TEXT...")
	}
	server, ok := ts.Value(serverKey{}).(*answers)
	if !ok {
		ts.Fatalf("there is no server")
	}
	if text := strings.Join(args, " "); !server.await(text) {
		ts.Fatalf("the server was not asked %s", text)
	}
}

// serverKey is under what a script finds its server.
type serverKey struct{}
