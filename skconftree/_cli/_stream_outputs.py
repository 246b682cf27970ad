"""What ``skconftree stream`` writes while rows arrive: predictions and drifts."""

import csv
import itertools

import numpy as np

from ._text import UserError

HEADER = ["row", "prediction", "probability"]
N_BEFORE, N_AFTER = 1000, 200  # rows for the errors before and after a drift


class PredictionFile:
    """File with the predicted class of each row and its probability.

    Predictions are written as they are made. A resumed run continues the file after the
    rows that the model has learned; rows that were predicted but not learned will be
    predicted again.
    """

    def __init__(self, path, classes, n_learned):
        self._labels = [str(label) for label in classes.tolist()]
        try:
            self._file = open(path, "a+", newline="", encoding="utf-8")
            try:
                self._truncate(path, n_learned)
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise UserError(f"cannot write {path}: {error.strerror}") from error
        self._writer = csv.writer(self._file, lineterminator="\n")
        if not self._file.tell():
            self._writer.writerow(HEADER)
            self._file.flush()

    def _truncate(self, path, n_learned):
        file = self._file
        file.seek(0)
        end = 0
        for line in iter(file.readline, ""):
            row = line.partition(",")[0]
            is_header = end == 0 and line.rstrip("\n") == ",".join(HEADER)
            if end == 0 and not is_header:
                raise UserError(
                    f"{path} was not written by --predictions; name another file"
                )
            is_learned = row.isdigit() and int(row) <= n_learned
            if not n_learned or not (is_header or (is_learned and line[-1:] == "\n")):
                break
            end = file.tell()
        file.seek(end)
        file.truncate()

    def write(self, first, codes, proba):
        """Write the predictions of consecutive rows; code -1 means none."""
        for row, code, values in zip(
            itertools.count(first), codes, proba, strict=False
        ):
            if code < 0:
                self._writer.writerow([row, "", ""])
            else:
                self._writer.writerow([row, self._labels[code], f"{values[code]:.6g}"])
        self._file.flush()

    def close(self):
        """Close the file."""
        self._file.close()


class Alarms:
    """Messages about drifts as they are detected.

    They report the error rate in the rows before a drift and after it.
    """

    def __init__(self, tree):
        self._tree = tree
        self._n_drifts = getattr(tree, "n_drifts_", 0)
        self._wrong = np.zeros(0)

    def add(self, wrong, n_learned):
        """Add rows, and return texts on new drifts.

        `wrong` has 1 for a wrong prediction, 0 for a right one, and NaN for none.
        `n_learned` is the number of rows that the tree has learned.
        """
        self._wrong = np.concatenate([self._wrong, wrong])
        n_drifts, texts = getattr(self._tree, "n_drifts_", 0), []
        if n_drifts > self._n_drifts:
            samples = self._tree.tree_.n_node_samples
            for drift in self._tree.drifts_[self._n_drifts :]:
                end = len(self._wrong) - (n_learned - drift.row)
                before, after = np.split(
                    self._wrong[: max(end, 0)][-N_BEFORE - N_AFTER :], [-N_AFTER]
                )
                share = samples[drift.node] / samples[0]
                where = f"below node {drift.node}" if drift.node else "the whole tree"
                texts.append(
                    f"drift after row {drift.row:,}: {where}, {share:.0%} of the rows; "
                    f"error {_mean(before)} before, {_mean(after)} in the last "
                    f"{len(after):,} rows"
                )
            self._n_drifts = n_drifts
        self._wrong = self._wrong[-N_BEFORE - N_AFTER :]
        return texts


def _mean(errors):
    known = errors[~np.isnan(errors)]
    return f"{known.mean():.1%}" if len(known) else "unknown"
