package strategies

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Executor performs operations step by step. It is called by several goroutines at the same time, for different operations.
type Executor interface {
	// Execute does the next step of an operation and says what comes then:
	//
	//   - zero and no error: the operation is done;
	//   - a positive duration and no error: Execute wants to be called again for this operation after that time. The operation counts as
	//     being worked on until then;
	//   - an error: the operation has failed, whatever the duration says. A panic and a negative duration count as errors.
	Execute(operationID string) (time.Duration, error)
}

// ExecutorFunc makes an Executor of a function.
type ExecutorFunc func(operationID string) (time.Duration, error)

// Execute calls f.
func (f ExecutorFunc) Execute(operationID string) (time.Duration, error) {
	return f(operationID)
}

// errGoexit is the failure of an operation whose step ended the goroutine that it was called on.
var errGoexit = errors.New("executor ended its goroutine")

// panicError is the failure of an operation whose step panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("executor panicked: %v", e.value)
}

// step calls the executor and turns all that it may do wrong into an error. When the executor ends the goroutine, onGoexit is called with
// the goroutine's last breath and step does not return.
func step(executor Executor, operationID string, onGoexit func()) (again time.Duration, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		value := recover()
		if value == nil {
			onGoexit()
			return
		}
		again, err = 0, &panicError{value: value, stack: debug.Stack()}
	}()
	again, err = executor.Execute(operationID)
	returned = true
	if err == nil && again < 0 {
		err = fmt.Errorf("executor returned a negative duration: %s", again)
	}
	return again, err
}
