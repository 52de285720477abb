"""Plays another optimiser on a recorded table: play.py PEER TABLE.json BUDGET SEED...

The table has the parameters as lists of values, and an outcome (None: failed) for
every configuration, given as one index a parameter. Prints for each seed a line of
JSON with the outcome of each evaluation in its order. What no optimiser should pay
for costs nothing here: configurations that break a known constraint, where the peer
cannot be told of it, and those evaluated before.
"""

import json
import math
import os
import random
import sys
import tempfile
import time


class Over(Exception):
    """The evaluations are spent, or the peer goes in circles."""


class Game:
    """Counts evaluations; patience bounds what is for nothing."""

    def __init__(self, table, budget):
        self.params = table["params"]
        self.rows = {tuple(r): v for r, v in zip(table["rows"], table["values"])}
        self.budget, self.patience = budget, 20 * budget
        self.known, self.trace = {}, []
        self.worst = max(v for v in table["values"] if v is not None)
        self.counts = [len(p["values"]) for p in self.params]

    def feasible(self, key):
        return key in self.rows

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


def optuna(game, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=False))

    # The values that the constraints leave, given those before, are known.
    left = {}
    for r in game.rows:
        for a in range(len(r)):
            left.setdefault(r[:a], set()).add(r[a])
    while not game.done():
        trial = study.ask()
        key = ()
        for a, p in enumerate(game.params):
            if p["ordered"]:
                key += (trial.suggest_int(p["name"], min(left[key]), max(left[key])),)
            else:
                key += (trial.suggest_categorical(p["name"], list(range(game.counts[a]))),)
            if key[-1] not in left[key[:-1]]:
                break
        value = game.play(key) if len(key) == len(game.params) else game.play((-1,))
        if value is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, math.log(value))


def smac(game, seed):
    from ConfigSpace import (Categorical, ConfigurationSpace, ForbiddenAndConjunction, ForbiddenEqualsClause,
                             OrdinalHyperparameter)
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue
    from smac.runhistory.enumerations import StatusType

    import logging

    logging.disable(logging.CRITICAL)
    space = ConfigurationSpace(seed=seed)
    hp = []
    for a, p in enumerate(game.params):
        values = list(range(game.counts[a]))
        hp.append(OrdinalHyperparameter(p["name"], values) if p["ordered"] else Categorical(p["name"], values))
    space.add(hp)
    space.add([ForbiddenAndConjunction(ForbiddenEqualsClause(hp[a], i), ForbiddenEqualsClause(hp[b], j)) for a, i, b, j in game.clashes()])
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(space, deterministic=True, n_trials=20 * game.budget, seed=seed, output_directory=folder, crash_cost=game.worst)
        opt = HyperparameterOptimizationFacade(scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=False)
        while not game.done():
            info = opt.ask()
            value = game.play([info.config[p["name"]] for p in game.params])
            if value is None:
                opt.tell(info, TrialValue(cost=game.worst, status=StatusType.CRASHED))
            else:
                opt.tell(info, TrialValue(cost=value))


def pyatf(game, seed):
    from pyatf import TP, Interval, Set, Tuner
    from pyatf.abort_conditions import Evaluations
    from pyatf.search_techniques import AUCBandit
    from pyatf.tuning_data import CostFunctionError

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


def opentuner(game, seed):
    import argparse
    import logging

    from opentuner import ConfigurationManipulator, EnumParameter, IntegerParameter, MeasurementInterface, Result
    from opentuner.api import TuningRunManager
    import opentuner

    import numpy

    logging.disable(logging.CRITICAL)
    random.seed(seed)
    numpy.random.seed(seed)
    manipulator = ConfigurationManipulator()
    for a, p in enumerate(game.params):
        if p["ordered"]:
            manipulator.add_parameter(IntegerParameter(p["name"], 0, game.counts[a] - 1))
        else:
            manipulator.add_parameter(EnumParameter(p["name"], list(range(game.counts[a]))))
    parser = argparse.ArgumentParser(parents=opentuner.argparsers())
    with tempfile.TemporaryDirectory() as folder:
        args = parser.parse_args(["--no-dups", "--database", os.path.join(folder, "db"), "--display-frequency", "100000000"])

        class Interface(MeasurementInterface):
            def save_final_config(self, configuration):
                pass

        run = TuningRunManager(Interface(args=args, manipulator=manipulator, project_name="table", program_name="table", program_version="1"), args)
        while not game.done():
            wanted = run.get_next_desired_result()
            if wanted is None:
                game.play((-1,))
                continue
            data = wanted.configuration.data
            value = game.play([data[p["name"]] for p in game.params])
            if value is None:
                run.report_result(wanted, Result(time=float("inf"), state="ERROR"))
            else:
                run.report_result(wanted, Result(time=value))


def hypermapper(game, seed):
    import contextlib

    import numpy
    from hypermapper import optimizer

    random.seed(seed)
    numpy.random.seed(seed)
    params = {}
    for a, p in enumerate(game.params):
        values = list(range(game.counts[a]))
        if p["ordered"]:
            params[p["name"]] = {"parameter_type": "ordinal", "values": values}
        else:
            params[p["name"]] = {"parameter_type": "categorical", "values": [str(v) for v in values]}
    with tempfile.TemporaryDirectory() as folder:
        scenario = {
            "application_name": "table", "optimization_objectives": ["value"], "input_parameters": params,
            "feasible_output": {"enable_feasible_predictor": True, "name": "Valid", "true_value": "True", "false_value": "False"},
            "models": {"model": "random_forest"},
            "design_of_experiment": {"doe_type": "random sampling", "number_of_samples": 10},
            "optimization_iterations": 20 * game.budget, "run_directory": folder, "log_file": "log", "output_data_file": "out.csv",
        }
        path = os.path.join(folder, "scenario.json")
        with open(path, "w") as f:
            json.dump(scenario, f)

        def cost(config):
            value = game.play([int(config[p["name"]]) for p in game.params])
            if game.done():
                raise Over
            return {"value": game.worst if value is None else value, "Valid": value is not None}

        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
            optimizer.optimize(path, cost)


def main():
    peer, path, budget = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(path) as f:
        table = json.load(f)
    for seed in map(int, sys.argv[4:]):
        game = Game(table, budget)
        began = time.process_time()
        try:
            {"optuna": optuna, "smac": smac, "pyatf": pyatf, "opentuner": opentuner, "hypermapper": hypermapper}[peer](game, seed)
        except Over:
            pass
        if not game.trace:
            sys.exit(peer + " evaluated nothing")
        print(json.dumps({"seed": seed, "outcomes": game.trace, "seconds": time.process_time() - began}), flush=True)


main()
