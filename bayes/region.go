package bayes

// Trust regions counted in parameters. Under Acquisition.Adaptive the number of
// parameters that a suggestion may differ in from the best known follows the search's
// luck, as the side of TuRBO's box does (Eriksson et al. 2019, section 3); where it falls
// below one, the whole space is searched, which is their restart without forgetting.

const (
	winsToGrow = 3
	mostReach  = 16
)

// reach is how far suggestions may lie from the best known; 0: anywhere.
func reach(h *history) int {
	start := h.opts.Acquisition.Reach
	if !h.opts.Acquisition.Adaptive {
		return start
	}
	patience := max(4, len(h.space.Params()))
	at, wins, losses := start, 0, 0
	var best *Trial
	for _, t := range h.told() {
		won := t.Outcome.Status == OK && (best == nil || h.sign()*t.Outcome.Value < h.sign()*best.Outcome.Value)
		if won {
			best = t
			wins, losses = wins+1, 0
		} else {
			wins, losses = 0, losses+1
		}
		switch {
		case won && at == 0:
			at, wins = start, 0
		case wins == winsToGrow:
			at, wins = min(2*at, mostReach), 0
		case losses == patience:
			losses = 0
			if at == 0 {
				at = start
			} else {
				at /= 2
			}
		}
	}
	return at
}
