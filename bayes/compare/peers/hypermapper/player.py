"""HyperMapper: its default settings; feasibility is modelled where something can fail."""

import contextlib
import json
import os
import random
import tempfile

import numpy
from game import Over
from hypermapper import optimizer


def play(game, seed):
    random.seed(seed)
    numpy.random.seed(seed)
    modelled = game.fails or bool(game.clashes())
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
            "models": {"model": "random_forest"},
            "design_of_experiment": {"doe_type": "random sampling", "number_of_samples": 10},
            "optimization_iterations": 20 * game.budget, "run_directory": folder, "log_file": "log", "output_data_file": "out.csv",
            "number_of_cpus": 1,  # as the others; else it starts processes for every suggestion
        }
        if modelled:  # else it would sample at random until something fails
            scenario["feasible_output"] = {"enable_feasible_predictor": True, "name": "Valid", "true_value": "True", "false_value": "False"}
        path = os.path.join(folder, "scenario.json")
        with open(path, "w") as f:
            json.dump(scenario, f)

        def cost(config):
            value = game.play([int(config[p["name"]]) for p in game.params])
            if game.done():
                raise Over
            value, valid = (game.worst, False) if value is None else (value, True)
            return {"value": value, "Valid": valid} if modelled else {"value": value}

        with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
            optimizer.optimize(path, cost)
