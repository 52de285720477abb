"""Plays another optimiser on a recorded table: play.py PEER TABLE.json BUDGET SEED...

The table has the parameters as lists of values, and an outcome (None: failed) for
every configuration, given as one index a parameter. Prints for each seed a line of
JSON with the outcome of each evaluation in its order.
"""

import importlib.util
import json
import pathlib
import sys
import time

from game import Game, Over


def load(peer):
    path = pathlib.Path(__file__).resolve().parent / peer / "player.py"
    spec = importlib.util.spec_from_file_location(peer + "_player", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.play


def main():
    peer, path, budget = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(path) as f:
        table = json.load(f)
    play = load(peer)
    for seed in map(int, sys.argv[4:]):
        game = Game(table, budget)
        began = time.process_time()
        try:
            play(game, seed)
        except Over:
            pass
        if not game.trace:
            sys.exit(peer + " evaluated nothing")
        print(json.dumps({"seed": seed, "outcomes": game.trace, "seconds": time.process_time() - began}), flush=True)


main()
