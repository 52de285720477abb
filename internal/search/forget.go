package search

// forgetter nodes hold what helps to evaluate or compare them and is large, and can be
// made again. A beam keeps all children of a level, a tree all children of what it has
// visited, and both go on from few, so they let them forget, before they are looked at
// or after. Nothing else may use the node meanwhile.
type forgetter interface{ Forget() }

// forgetAll lets those nodes forget that can.
func forgetAll(nodes ...Node) {
	for _, n := range nodes {
		if f, ok := n.(forgetter); ok {
			f.Forget()
		}
	}
}

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
