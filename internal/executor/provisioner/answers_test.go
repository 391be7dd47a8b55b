package provisioner_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/swell-fleet/swell/internal/executor/provisioner"
	"github.com/swell-fleet/swell/internal/fleet"
)

// answer makes the backend answer with a status and a text.
func answer(status int, text string) func(http.ResponseWriter, request) bool {
	return func(w http.ResponseWriter, _ request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
		return true
	}
}

// What says nothing about the runtime is a passing fault: the step is repeated, and the operation neither fails nor ends as gone.
func TestFaultsThatMayPass(t *testing.T) {
	t.Parallel()
	tests := map[string]func(http.ResponseWriter, request) bool{
		"500 without words":     answer(http.StatusInternalServerError, ""),
		"503 in plain text":     answer(http.StatusServiceUnavailable, "no healthy upstream"),
		"401":                   answer(http.StatusUnauthorized, `{"errors":[{"message":"who are you"}]}`),
		"404 of another server": answer(http.StatusNotFound, "page not found"),
		"a page":                answer(http.StatusOK, "<html>maintenance</html>"),
		"nothing":               answer(http.StatusOK, ""),
		"null":                  answer(http.StatusOK, "null"),
		"an empty object":       answer(http.StatusOK, "{}"),
		"no data":               answer(http.StatusOK, `{"data":null}`),
		"no runtime":            answer(http.StatusOK, `{"data":{"runtimeStatus":null}}`),
		"wrong types":           answer(http.StatusOK, `{"data":{"runtimeStatus":[1,2]}}`),
		"a null error":          answer(http.StatusOK, `{"errors":[null]}`),
		"an inner error":        answer(http.StatusOK, `{"errors":[{"message":"database is away","extensions":{"error_code":500}}]}`),
		"an error in words":     answer(http.StatusOK, `{"errors":[{"message":"runtime not found, or so"}]}`),
		"a strange code":        answer(http.StatusOK, `{"errors":[{"message":"x","extensions":{"error_code":"404"}}]}`),
		"a huge answer":         answer(http.StatusOK, `{"data":{"runtimeStatus":{"lastOperationStatus":{"message":"`+strings.Repeat("x", 9<<20)),
		"a cut connection":      func(http.ResponseWriter, request) bool { panic(http.ErrAbortHandler) },
	}
	for name, instead := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			task := b.task("rt-1")
			started := b.task("rt-2")
			e := b.executor(t, kyma)
			start(t, e, &started)
			b.answerWith(instead)

			_, err := e.Observe(t.Context(), task)
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1000)
			_, err = e.Start(t.Context(), task, allowed(t))
			require.Error(t, err)
			_, err = e.Check(t.Context(), started, allowed(t))
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1000)

			b.answerWith(nil)
			r, err := e.Check(t.Context(), started, allowed(t))
			require.NoError(t, err)
			require.Equal(t, fleet.Again, r.Outcome)
		})
	}
}

func TestRefusalsThatWillNotPass(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		outcome fleet.Outcome
	}{
		"bad request":   {`{"errors":[{"message":"version 2.20.5\nis not known","extensions":{"error_code":400}}]}`, fleet.Refused},
		"forbidden":     {`{"errors":[{"message":"not your runtime","extensions":{"error_code":403}}]}`, fleet.Refused},
		"not found":     {`{"data":null,"errors":[{"message":"no such runtime","extensions":{"error_code":404}}]}`, fleet.Gone},
		"not in its db": {`{"errors":[null,{"message":"no such runtime","extensions":{"error_code":2,"error_reason":"err_db_not_found"}}]}`, fleet.Gone},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			task := b.task("rt-1")
			b.answerWith(answer(http.StatusOK, test.text))
			r, err := b.executor(t, kyma).Observe(t.Context(), task)
			require.NoError(t, err)
			require.Equal(t, test.outcome, r.Outcome)
			require.NotEmpty(t, r.Reason)
			require.NotContains(t, r.Reason, "\n")
		})
	}
}

// An upgrade that was asked for goes on at the Provisioner whatever it answers to questions, so it is not given up.
func TestRefusedQuestionDoesNotEndARunningUpgrade(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	e := b.executor(t, kyma)
	start(t, e, &task)
	b.answerWith(answer(http.StatusOK, `{"errors":[{"message":"not your runtime","extensions":{"error_code":403}}]}`))
	_, err := e.Check(t.Context(), task, allowed(t))
	require.ErrorContains(t, err, "not your runtime")
}

// The request arrives, the answer has no ID in it: the operation is found as the newest one.
func TestAnswerWithoutID(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"data":{"upgradeRuntime":null}}`, `{"data":{"upgradeRuntime":{"operation":"Upgrade","state":"InProgress"}}}`} {
		b := newBackend(t)
		task := b.task("rt-1")
		e := b.executor(t, kyma)
		b.answerWith(func(w http.ResponseWriter, r request) bool {
			if r.OperationName != "UpgradeRuntime" {
				return false
			}
			_, _, failure := b.answer(r)
			if failure != nil {
				return false
			}
			_, _ = io.WriteString(w, text)
			return true
		})
		r := start(t, e, &task)
		require.True(t, r.Sent)
		require.True(t, r.NextObserve)
		r, err := e.Observe(t.Context(), task)
		require.NoError(t, err)
		require.Equal(t, fleet.Again, r.Outcome)
		require.False(t, r.NextObserve)
		require.Equal(t, 1, b.starts("rt-1"))
	}
}

func TestContextThatEndsIsAPassingFault(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	task := b.task("rt-1")
	e := b.executor(t, kyma)
	entered, leave := make(chan struct{}), make(chan struct{})
	b.answerWith(func(http.ResponseWriter, request) bool {
		close(entered)
		<-leave
		return false
	})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := e.Observe(ctx, task)
		failed <- err
	}()
	<-entered
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	close(leave)

	_, err := e.Start(ctx, task, allowed(t))
	require.ErrorIs(t, err, context.Canceled)
	_, err = e.Check(ctx, task, allowed(t))
	require.ErrorIs(t, err, context.Canceled)
}

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		``, `null`, `{}`, `{"data":{"runtimeStatus":null}}`, `{"data":{"runtimeStatus":{}}}`, `{"errors":[null]}`, `{"errors":[{"extensions":{"error_code":1e309}}]}`,
		`{"data":{"runtimeStatus":{"lastOperationStatus":{"id":"po-1","operation":"Upgrade","state":"Failed","lastError":{}},"runtimeConfiguration":{"kymaConfig":{"version":"2.20.5","components":[null],"configuration":[null]}}}}}`,
		`{"data":{"runtimeStatus":{"lastOperationStatus":{"id":"","operation":"?","state":"?"},"runtimeConfiguration":{"clusterConfig":null,"kymaConfig":{"components":[{"configuration":[null,{"secret":true,"value":"s3cr3t"}]}]}}}}}`,
		`{"data":{"runtimeOperationStatus":{"state":"Succeeded","message":"\u0000\n"}}}`, `{"data":{"upgradeRuntime":{"id":"po-2","state":"InProgress"}}}`,
	} {
		f.Add(200, seed, false)
		f.Add(500, seed, true)
	}
	f.Fuzz(func(t *testing.T, status int, text string, known bool) {
		client := &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
		})}
		for _, kind := range []string{"upgradeKyma", "upgradeCluster"} {
			e, err := provisioner.New(provisioner.Options{URL: "http://provisioner.example/graphql", Client: client, Type: types[kind]})
			if err != nil {
				t.Fatal(err)
			}
			task := fleet.Task{RuntimeID: "rt-1", GlobalAccountID: "ga", Version: "2.20.5"}
			if known {
				task.Memo = []byte(`{"watched":true,"before":"po-0","operation":"po-1"}`)
			}
			for _, call := range []func() (fleet.Result, error){
				func() (fleet.Result, error) { return e.Observe(t.Context(), task) },
				func() (fleet.Result, error) { return e.Start(t.Context(), task, allowed(t)) },
				func() (fleet.Result, error) { return e.Check(t.Context(), task, allowed(t)) },
			} {
				r, err := call()
				if err != nil {
					continue
				}
				if (r.Outcome == fleet.Refused || r.Outcome == fleet.Gone) == (r.Reason == "") {
					t.Fatalf("outcome and reason do not fit: %+v", r)
				}
				if fleet.Line(r.Reason) != r.Reason || fleet.Line(r.Description) != r.Description {
					t.Fatalf("text from outside is not made one line: %+v", r)
				}
				if strings.Contains(string(r.KymaConfig), "s3cr3t") && strings.Contains(string(r.KymaConfig), `"secret":true`) {
					t.Fatalf("a secret is kept: %s", r.KymaConfig)
				}
			}
		}
	})
}
