package orchestration

import (
	goruntime "runtime"
	"sync"
)

// parallelWork is the number of steps from which on it pays to use more than one processor.
const parallelWork = 1 << 15

// stepsPerShoot is what one look at a Shoot costs, in the steps of parallelWork: some ten loads from memory that is in no cache.
const stepsPerShoot = 10

// inParallel splits the numbers below n into ranges and calls work for each of them, at the same time where there is enough to do. It
// returns when all calls have.
func inParallel(n, stepsPerNumber int, work func(begin, end int)) {
	workers := goruntime.GOMAXPROCS(0)
	if n*stepsPerNumber < parallelWork || workers < 2 {
		work(0, n)
		return
	}
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() { work(n*i/workers, n*(i+1)/workers) })
	}
	group.Wait()
}
