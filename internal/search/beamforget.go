package search

// forgetter nodes hold what helps to evaluate them and is large. A beam keeps all
// children of a level, and goes on from few, so it lets them forget once they have
// been evaluated. Nothing else may use the node meanwhile.
type forgetter interface{ Forget() }

// Forget implements forgetter.
func (n *StateNode) Forget() { n.action.Forget() }
