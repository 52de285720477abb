"""Optuna: its default sampler (TPE), the range of each parameter given those before."""

import math

import optuna


def play(game, seed):
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
