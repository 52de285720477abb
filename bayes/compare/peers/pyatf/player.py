"""pyATF: its default technique, constraints between two parameters as functions."""

import random

from pyatf import TP, Interval, Set, Tuner
from pyatf.abort_conditions import Evaluations
from pyatf.search_techniques import AUCBandit
from pyatf.tuning_data import CostFunctionError


def play(game, seed):
    random.seed(seed)
    clashes = game.clashes()
    tps = []
    for b, p in enumerate(game.params):
        pairs = {}
        for a, i, c, j in clashes:
            if c == b:
                pairs.setdefault(game.params[a]["name"], set()).add((i, j))
        constraint = None
        if pairs:  # pyATF finds the parameters by the names of the arguments
            names = list(pairs)
            scope = {"pairs": pairs}
            test = " and ".join("(%s, %s) not in pairs[%r]" % (n, p["name"], n) for n in names)
            exec("def constraint(%s): return %s" % (", ".join([p["name"]] + names), test), scope)
            constraint = scope["constraint"]
        values = Interval(0, game.counts[b] - 1) if p["ordered"] else Set(*range(game.counts[b]))
        tps.append(TP(p["name"], values, constraint))

    def cost(config):
        value = game.play([config[p["name"]] for p in game.params])
        if value is None:
            raise CostFunctionError("failed")
        return value

    Tuner().tuning_parameters(*tps).search_technique(AUCBandit()).verbosity(0).tune(cost, Evaluations(20 * game.budget))
