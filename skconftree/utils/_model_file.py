"""Model files: a fitted model and metadata, saved atomically.

`metadata` is a dict. In files of ``skconftree stream``, it contains the number of rows
read and, as ``run``, the state of the evaluation, to resume the stream.

A file is an archive of arrays in the format of `numpy.savez` and contains no code.
``head`` is JSON with the format, the version of the package, the class of the model,
and metadata that are checked before a model is created. ``state`` is JSON with the
states (pickled attributes) of the model and of the evaluation, see `utils.to_json`.
Their arrays are members ``array_0``, ``array_1`` etc.; ``sha256`` is the checksum of
all other members.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zipfile
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._codec import (
    class_of,
    from_json,
    is_newer,
    own_version,
    to_json,
    versions_and_remedy,
)
from ._files import atomic_write, named_errors
from ._types import Estimator

FORMAT = 4
PACKAGE = "skconftree"
RUN = "run"  # key of the state of the evaluation in the metadata
CHECKSUM = "sha256"  # member with the checksum


def save_model(
    model: Estimator, path: str | os.PathLike[str], compact: bool = False
) -> None:
    """Save a fitted model to a file that `load_model` and the command line read.

    The file is an archive of arrays and JSON with a checksum. It cannot contain code,
    and is written in one step: an error or an interrupt leaves an old file intact.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or `OASISClassifier`. Save active learners with skops or
        pickle.
    path : str or path-like
        File to write. An existing file is replaced.
    compact : bool, default=False
        Whether to save a tree or forest for predictions alone, in a smaller file.
        `predict`, `predict_proba`, `apply` and `decision_path` of the loaded model
        return the same as those of `model`. Counts and the statistics of the splits
        (evidence) are dropped: what needs them raises an error, such as `partial_fit`,
        `explain`, `export_text` and `to_sklearn`. A tree that predicts by naive Bayes,
        and a forest trained by `partial_fit`, cannot be compact.

    Raises
    ------
    TypeError
        If `model` is of another class, or with `compact=True` not a tree or a forest.
    ValueError
        If the predictions of `model` need what `compact=True` drops.

    See Also
    --------
    load_model : Load such a file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ConfidenceTreeClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.model")
    ...     save_model(tree, path)
    ...     again = load_model(path)
    >>> bool((again.predict_proba(X) == tree.predict_proba(X)).all())
    True
    """
    check_is_fitted(model)
    save(path, model, {}, compact=compact)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Load a model from a file of `save_model` or of the command line.

    No code of the file is executed, and every size and index is checked.

    Parameters
    ----------
    path : str or path-like
        File that `save_model`, ``skconftree fit`` or ``skconftree stream`` wrote.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ValueError
        If the file is not a model, is corrupt, or was written by a later version.

    See Also
    --------
    save_model : Save a model.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from skconftree import ConfidenceTreeClassifier, load_model, save_model
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.model")
    ...     save_model(ConfidenceTreeClassifier().fit(X, y), path)
    ...     load_model(path).predict(X[:3])
    array([0, 0, 0])
    """
    model = load(os.fspath(path))[0]
    if model is None:
        raise ValueError(
            f"{path} has a model of texts that `skconftree label` saved. Predict with "
            f"`skconftree predict {path} DATA`."
        )
    return model


def save(path, model, metadata, scratch=None, compact=False):
    """Write a model with metadata atomically; `scratch` names the temporary file.

    The model can be None if the metadata describe it.
    """
    name = None if model is None else type(model).__name__
    if model is not None and class_of(f"{PACKAGE}.{name}") is not type(model):
        raise TypeError(
            f"Only models that {PACKAGE} itself exports can be saved. Got {name}. "
            "Pass the classifier of a pipeline, grid search or active learner, or use "
            "skops."
        )
    arrays = []
    state = {}
    if model is not None:
        state = {"model": to_json(_state_of(model, compact), arrays)}
    state[RUN] = to_json(metadata.get(RUN), arrays)
    head = {"format": FORMAT, "version": own_version(), "model": name, **metadata}
    head.pop(RUN, None)
    members = {"head": _as_json(head), "state": _as_json(state)}
    members |= {f"array_{index}": array for index, array in enumerate(arrays)}
    members[CHECKSUM] = np.array(_checksum(members))
    with named_errors("write", path), atomic_write(path, temporary=scratch) as file:
        np.savez(file, **members)


def _state_of(model, compact):
    if not compact:
        return model.__getstate__()
    if not hasattr(getattr(model, "_model", None), "compacted"):
        raise TypeError(
            "compact=True is for a ConfidenceTreeClassifier or a "
            f"ConfidenceForestClassifier. Got {type(model).__name__}. Save it with "
            "compact=False."
        )
    return model._compact_state()


def _as_json(value):
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _checksum(members):
    """Return the hash of all members, except the checksum, in their order."""
    digest = hashlib.sha256()
    for name, array in members.items():
        if name != CHECKSUM:
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            if array.dtype.kind in "mM":  # dates cannot be hashed
                array = array.view(np.int64)
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def load(path, check=None):
    """Return the model and the metadata; `check` is first called with the metadata."""
    members, metadata = _read(path)
    if check is not None:
        check(metadata)
    try:
        state = json.loads(members["state"].tobytes())
        n_arrays = len(members) - 3  # without head, state and checksum
        arrays = [members[f"array_{index}"] for index in range(n_arrays)]
        model = None
        if metadata["model"] is not None:
            model = class_of(f"{PACKAGE}.{metadata['model']}")()
            model.__setstate__(from_json(state["model"], arrays))
            check_is_fitted(model)
        run = from_json(state[RUN], arrays)
    except Exception as error:  # an invalid state can fail in many ways
        raise ValueError(f"{path} cannot be read: {error}") from error
    return model, {**metadata, RUN: run}


def load_metadata(path):
    """Load only the metadata of a file written by `save`."""
    return _read(path)[1]


def _read(path):
    with named_errors("read", path), open(path, "rb", opener=_open_regular) as file:
        members = _read_members(path, file)
    return members, _checked_metadata(path, members)


def _open_regular(path, flags):
    file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ValueError(f"cannot read {path}: it is not a file")
    return file


def _invalid_file(path):
    return ValueError(
        f"{path} is not a model that this version of `skconftree` has saved, or it is "
        "corrupt; name another file, or save the model again"
    )


def _read_members(path, file):
    """Return the arrays of the archive, which must not be compressed.

    Their total size is then at most that of the file.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        compressed = any(e.compress_type != zipfile.ZIP_STORED for e in entries)
        if compressed or size > os.fstat(file.fileno()).st_size:
            raise ValueError("it is compressed")
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError:
        raise
    except Exception as error:  # a corrupt archive can fail in many ways
        raise _invalid_file(path) from error


def _checked_metadata(path, members):
    try:
        metadata = json.loads(members["head"].tobytes())
        version, digest = metadata["format"], members[CHECKSUM].item()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _invalid_file(path) from error
    writer = metadata.get("version")
    if is_newer(writer):
        raise ValueError(f"{path} was {versions_and_remedy(writer)}")
    if version != FORMAT:
        raise ValueError(
            f"{path} cannot be read: it has format {version!r}, this version reads "
            f"{FORMAT}. It was {versions_and_remedy(writer)}"
        )
    if _checksum(members) != digest:
        raise ValueError(
            f"{path} is corrupt: its checksum is wrong; use another copy, or save the "
            "model again"
        )
    return metadata
