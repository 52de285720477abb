package search

import "sync"

// turns deals out trees to workers, a turn at a time: always the one that has spent
// least at its root, so that all are about as far whenever the time is over, and so
// that no worker is left with a whole tree in the end.
type turns struct {
	mu   sync.Mutex
	back sync.Cond // a tree came back
	idle []*tree
	out  int  // trees that workers have
	over bool // the search ended with an error
}

func newTurns(trees []*tree) *turns {
	q := &turns{}
	q.back.L = &q.mu
	for _, t := range trees {
		if !t.done() {
			q.idle = append(q.idle, t)
		}
	}
	return q
}

// take is the tree whose turn it is; nil when all are done or the search is over.
func (q *turns) take() *tree {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.idle) == 0 && q.out > 0 && !q.over {
		q.back.Wait()
	}
	if len(q.idle) == 0 || q.over {
		return nil
	}
	// Of equals the last one: greedy trees, which come first, may take all the time
	// there is for a single simulation.
	next := len(q.idle) - 1
	for i := next - 1; i >= 0; i-- {
		if a, b := q.idle[i], q.idle[next]; a.spent-a.begun < b.spent-b.begun {
			next = i
		}
	}
	t := q.idle[next]
	q.idle = append(q.idle[:next], q.idle[next+1:]...)
	q.out++
	return t
}

// give brings a tree back, with the error that ends the search. A tree that is done
// gets no more turns.
func (q *turns) give(t *tree, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.out--
	q.over = q.over || err != nil
	if !t.done() {
		q.idle = append(q.idle, t)
	}
	q.back.Broadcast()
}
