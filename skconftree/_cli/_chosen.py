"""What a run leaves out of a table: columns, and unlabelled rows."""

import numpy as np

from ._common import is_missing
from ._own_columns import left_out
from ._reading import places_of
from ._text import UserError


class Chosen:
    """A reader of tables that shows some columns and rows of another one.

    Rows keep their numbers: a piece ends where a row is left out. Columns that are left
    out are read as texts, of which none is at fault.
    """

    def __init__(self, stream, drop, skip_missing):
        self._stream = stream
        self._skip = skip_missing
        self.own = left_out(stream, drop)
        drop = [*drop, *self.own]
        out = set(places_of(drop, stream, "--drop"))
        self._kept = [j for j in range(len(stream.features)) if j not in out]
        if not self._kept:
            raise UserError("--drop leaves no column to learn from")
        self.features = [stream.features[place] for place in self._kept]
        self.header = [name for name in stream.header if name not in drop]
        self.n_left_out = 0  # rows

    def __enter__(self):
        self._stream.__enter__()
        return self

    def __exit__(self, *error):
        self._stream.__exit__(*error)

    def __getattr__(self, name):
        # path, n_rows, fingerprint, skip
        return getattr(self._stream, name)

    @property
    def readings(self):
        """How the columns are read, None for a nominal one."""
        return [self._stream.readings[place] for place in self._kept]

    @readings.setter
    def readings(self, readings):
        whole = [None] * len(self._stream.features)
        for place, reading in zip(self._kept, readings, strict=True):
            whole[place] = reading
        self._stream.readings = whole

    def look_ahead(self):
        """Guess each of `features`."""
        guesses = self._stream.look_ahead()
        return [guesses[place] for place in self._kept]

    def labels(self):
        """Each distinct label with its first row."""
        found = self._stream.labels()
        if not self._skip:
            return found
        return {text: row for text, row in found.items() if not is_missing(text)}

    def pieces(self, size):
        """Read the rows that remain, at most `size` a piece."""
        for piece in self._stream.pieces(size):
            yield from self._rows(self._columns(piece))

    def _columns(self, piece):
        if len(self._kept) == len(self._stream.features):
            return piece
        places = {place: new for new, place in enumerate(self._kept)}
        X = piece.X[:, self._kept]
        if None not in self.readings:
            X = X.astype(np.float32)
        strays = [
            (row, places[place], text)
            for row, place, text in piece.strays
            if place in places
        ]
        return piece._replace(X=X, strays=strays)

    def _rows(self, piece):
        out = [-1, len(piece.labels)]
        if self._skip:
            out[1:1] = [row for row, one in enumerate(piece.labels) if is_missing(one)]
        self.n_left_out += len(out) - 2
        for start, stop in zip([one + 1 for one in out], out[1:], strict=False):
            last = stop == len(piece.labels)
            if start == stop and not (last and piece.problem is not None):
                continue
            some = slice(start, stop)
            yield piece._replace(
                first=piece.first + start,
                X=piece.X[some],
                labels=piece.labels[some],
                fingerprints=piece.fingerprints[some],
                strays=[
                    (row - start, place, text)
                    for row, place, text in piece.strays
                    if start <= row < stop
                ],
                problem=piece.problem if last else None,
            )
