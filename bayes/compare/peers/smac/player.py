"""SMAC3: its facade for hyperparameters, at the number of trials that it is told of."""

import logging
import tempfile

from ConfigSpace import (Categorical, ConfigurationSpace, ForbiddenAndConjunction, ForbiddenEqualsClause,
                         OrdinalHyperparameter)
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue
from smac.runhistory.enumerations import StatusType


def play(game, seed):
    logging.disable(logging.CRITICAL)
    space = ConfigurationSpace(seed=seed)
    hp = []
    for a, p in enumerate(game.params):
        values = list(range(game.counts[a]))
        hp.append(OrdinalHyperparameter(p["name"], values) if p["ordered"] else Categorical(p["name"], values))
    space.add(hp)
    space.add([ForbiddenAndConjunction(ForbiddenEqualsClause(hp[a], i), ForbiddenEqualsClause(hp[b], j)) for a, i, b, j in game.clashes()])
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(space, deterministic=True, n_trials=game.budget, seed=seed, output_directory=folder)
        opt = HyperparameterOptimizationFacade(scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False)
        while not game.done():
            info = opt.ask()
            value = game.play([info.config[p["name"]] for p in game.params])
            if value is None:
                opt.tell(info, TrialValue(cost=game.worst, status=StatusType.CRASHED))
            else:
                opt.tell(info, TrialValue(cost=value))
