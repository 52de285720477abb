"""The game that other optimisers play: a recorded table, of which each evaluation counts.

What no optimiser should pay for costs nothing: configurations that break a known
constraint, where the peer cannot be told of it, and those evaluated before.
"""


class Over(Exception):
    """The evaluations are spent, or the peer goes in circles."""


class Game:
    """Counts evaluations; patience bounds what is for nothing."""

    def __init__(self, table, budget):
        self.params = table["params"]
        self.rows = {tuple(r): v for r, v in zip(table["rows"], table["values"])}
        self.budget, self.patience = budget, 20 * budget
        self.known, self.trace = {}, []
        times = sorted(v for v in table["values"] if v is not None)
        self.fails = len(times) < len(table["values"])
        # What a failure is said to be worth: the worst value so far, at first a middling one.
        self.worst = times[len(times) // 2]
        self.counts = [len(p["values"]) for p in self.params]

    def play(self, key):
        """The outcome of a configuration, None when it fails."""
        key = tuple(int(k) for k in key)
        self.patience -= 1
        if self.patience < 0:
            raise Over
        if key not in self.rows:
            return None
        if key not in self.known:
            if len(self.trace) >= self.budget:
                raise Over
            self.known[key] = self.rows[key]
            self.trace.append(self.rows[key])
            self.worst = max(self.worst, self.rows[key] or 0.0)
        return self.known[key]

    def done(self):
        return len(self.trace) >= self.budget

    def clashes(self):
        """Pairs of values of two parameters that no configuration has together."""
        out = []
        for a in range(len(self.params)):
            for b in range(a + 1, len(self.params)):
                there = {(r[a], r[b]) for r in self.rows}
                out += [(a, i, b, j) for i in range(self.counts[a]) for j in range(self.counts[b]) if (i, j) not in there]
        return out
