"""HyperMapper: its default settings; feasibility is modelled where something can fail.

Some of its loops over Python lists are done by NumPy here. The suggestions are the same,
in a fraction of the time.
"""

import contextlib
import copy
import json
import os
import random
import tempfile
import types

import numpy
from game import Over
from hypermapper import local_search, models, optimizer, random_scalarizations, utility_functions


def columns(rows, keys):
    return dict(zip(keys, map(list, zip(*rows))))


def rows(columns, keys):
    return list(zip(*(columns[k] for k in keys)))


def copied(columns):
    out = copy.copy(columns)
    out.update((k, list(v)) for k, v in columns.items() if isinstance(v, list))
    return out


def fewest(configurations, number, key):
    """The configurations with the least values, as many as that; the first of equals."""
    order = numpy.argsort(configurations[key], kind="stable")[:number]
    return {k: [v[i] for i in order] for k, v in configurations.items()}


class Encoder:
    """What the forests see of configurations: shares of the count, then one column a category.

    Both forests are asked about the same configurations, which are encoded once.
    """

    def __init__(self):
        self.samples, self.encoded = None, None

    def __call__(self, samples, space):
        if samples is not self.samples:
            names = space.get_input_parameters()
            objects = space.get_input_parameters_objects()
            of = dict(zip(names, numpy.array(samples, int).T))
            out = [of[n] / objects[n].get_size() for n in space.get_input_non_categorical_parameters(names)]
            for n in space.get_input_categorical_parameters(names):
                out += [of[n] == v for v in range(objects[n].get_size())]
            self.samples, self.encoded = samples, numpy.array(out, numpy.float32).T.copy()
        return self.encoded


def probabilities(samples, forests, space):
    samples, out = models.preprocess_data_buffer(samples, space), {}
    for name, forest in forests.items():
        total = numpy.zeros((len(samples), forest.n_classes_))
        for tree in forest:
            counts = tree.tree_.predict(samples)[:, : forest.n_classes_]
            total += counts / counts.sum(axis=1)[:, numpy.newaxis]
        out[name] = total / len(forest)
    return out


def leaves(forest, samples, _):
    """The leaf of each sample in each tree."""
    samples = numpy.asarray(samples, numpy.float32)
    return numpy.array([tree.tree_.apply(samples) for tree in forest])


def total(leaves, values):
    """The sum over the trees of what each one's leaf of a sample is worth."""
    out = numpy.zeros(leaves.shape[1])
    for of_tree, worth in zip(leaves, values):
        found, where = numpy.unique(of_tree, return_inverse=True)
        out += numpy.array([worth(leaf) for leaf in found], float)[where]
    return out


def mean(forest, leaves):
    n = len(leaves)
    return total(leaves, [lambda leaf, m=m: m[leaf] / n for m in forest.get_means_per_leaf()])


def variance(forest, leaves, means):
    n = len(leaves)
    within = total(leaves, [lambda leaf, v=v: v[leaf] / n for v in forest.get_vars_per_leaf()])
    squares = total(leaves, [lambda leaf, m=m: m[leaf] ** 2 / n for m in forest.get_means_per_leaf()])
    out = within + abs(squares - means**2)
    out[out == 0] = 0.00001
    return out


def hasten():
    for module in (local_search, models, random_scalarizations, utility_functions):
        module.data_tuples_to_dictionary = columns
        module.data_dictionary_to_tuple = rows
        module.get_min_configurations = fewest
    local_search.copy = types.SimpleNamespace(deepcopy=copied)
    models.preprocess_data_buffer = Encoder()
    models.model_probabilities = probabilities
    models.RFModel.get_leaves_per_sample = leaves
    models.RFModel.compute_rf_prediction = mean
    models.RFModel.compute_rf_prediction_variance = variance


hasten()


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
