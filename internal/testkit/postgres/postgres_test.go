package postgres_test

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/swell-fleet/swell/internal/testkit/postgres"
)

// orphan makes the test program start a server, print its address and wait to be killed.
const orphan = "SWELL_TEST_ORPHAN"

func TestMain(m *testing.M) {
	if os.Getenv(orphan) != "" {
		server, err := postgres.Start(false)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(server.URL)
		select {}
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(postgres.Exit))
}

func TestEveryTestHasASchemaOfItsOwn(t *testing.T) {
	t.Parallel()
	var schemas []string
	for range 2 {
		conn, err := pgx.Connect(t.Context(), postgres.URL(t))
		require.NoError(t, err)
		var schema string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema))
		_, err = conn.Exec(t.Context(), "CREATE TABLE mine (id int)")
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
		schemas = append(schemas, schema)
	}
	require.NotEqual(t, schemas[0], schemas[1])
}

// TestServerDiesWithItsProgram: a test program that is killed leaves neither a server nor a folder behind.
func TestServerDiesWithItsProgram(t *testing.T) {
	t.Parallel()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), orphan+"=1")
	out, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	address, err := url.Parse(line[:len(line)-1])
	require.NoError(t, err, line)
	dir := address.Query().Get("host")
	require.DirExists(t, dir, line)
	require.NoError(t, program.Process.Kill())
	_ = program.Wait()
	require.Eventually(t, func() bool {
		_, err := os.Stat(dir)
		return os.IsNotExist(err)
	}, time.Minute, 10*time.Millisecond)
}
