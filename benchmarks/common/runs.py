"""Runs of one setting, kept in a folder, so that a study that was stopped goes on."""

import hashlib
import json
import os
from pathlib import Path

import numpy as np


class Runs:
    """Runs with the seeds 0, 1, ... of a script's settings.

    With ``--cache`` every run is written as soon as it has ended, and none that is
    there is made again: of fifty runs the first twenty are those of a study of twenty.
    Several processes may fill one folder if each has settings of its own (`--table`,
    `--part`); a last one then only reads. The folder knows nothing of the code: after
    a change that moves figures, take another.

    Parameters
    ----------
    script : str
        Its name.
    options : Namespace
        Of the command line: `runs`, and `cache`.
    """

    def __init__(self, script, options):
        self.script, self.n_runs = script, options.runs
        self.folder = None if options.cache is None else Path(options.cache)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def each(self, one, **setting):
        """Answer of one(seed) for every seed.

        Parameters
        ----------
        one : callable
            Takes a seed and returns what JSON can hold.
        **setting
            All that the answers depend on besides the seed.

        Returns
        -------
        list
            As JSON holds it: tuples are lists, keys of dicts are texts.
        """
        what = as_json({"script": self.script, **setting})
        path = None
        if self.folder is not None:
            told = json.dumps(what, sort_keys=True)
            name = hashlib.sha256(told.encode()).hexdigest()[:16]
            path = self.folder / f"{self.script}-{name}.json"
        answers = []
        if path is not None and path.exists():
            kept = json.loads(path.read_text("utf-8"))
            if kept["setting"] != what:
                raise ValueError(f"{path} holds another setting, {kept['setting']}.")
            answers = kept["answers"][: self.n_runs]
        for seed in range(len(answers), self.n_runs):
            answers.append(as_json(one(seed)))
            if path is not None:
                text = json.dumps({"setting": what, "answers": answers})
                unfinished = path.with_suffix(f".{os.getpid()}")
                unfinished.write_text(text, "utf-8")
                unfinished.replace(path)
        return answers


def as_json(value):
    """Give a value as it comes back from a file."""
    return json.loads(json.dumps(value))


def mean_and_error(shares):
    """Mean of some runs, and twice its standard error, in percent."""
    values = 100 * np.asarray(shares, dtype=float)
    error = 2 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.1f} ± {error:.1f}"
