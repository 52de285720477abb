package search

// forgetter nodes hold what helps to evaluate or compare them and is large. A beam
// keeps all children of a level, a tree all that it has visited, and both go on from
// few, so they let them forget once they have been looked at. Nothing else may use the
// node meanwhile.
type forgetter interface{ Forget() }

// Forget implements forgetter.
func (n *StateNode) Forget() {
	n.action.Forget()
	if n.parent != nil {
		n.made.Store(nil)
	}
}

// sibling nodes are made together, in one piece of memory with all others that their
// parent has, which lasts as long as one of them. Alone is the same node apart from
// them, for those that a beam goes on from and remembers to the end of a pass.
type sibling interface{ Alone() Node }

// Alone implements sibling.
func (n *StateNode) Alone() Node { return NewStateNode(n.State()) }
