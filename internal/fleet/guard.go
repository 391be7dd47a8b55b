package fleet

// CheckGuard decides whether a claimed operation may write to its backend, from what one read has shown. Once something was sent the
// upgrade goes on to its end, whatever became of the window or the orchestration: only a newer holder stops it.
func CheckGuard(claimed Operation, view GuardView) error {
	switch {
	case view.Fence != claimed.Fence || view.State != InProgress:
		return ErrFenced
	case claimed.Sent:
		return nil
	case view.OrchestrationState != InProgress:
		return ErrCanceled
	case view.UsesWindow && !(&Operation{UsesWindow: true, WindowBegin: view.WindowBegin, WindowEnd: view.WindowEnd}).WindowOpen(view.Now):
		return ErrWindowClosed
	default:
		return nil
	}
}
