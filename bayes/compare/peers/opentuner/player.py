"""OpenTuner: its default bandit."""

import argparse
import logging
import os
import random
import tempfile

import numpy
import opentuner
from opentuner import ConfigurationManipulator, EnumParameter, IntegerParameter, MeasurementInterface, Result
from opentuner.api import TuningRunManager


def play(game, seed):
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
