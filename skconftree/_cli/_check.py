"""``skconftree check``: what a file contains, and whether this version can read it.

A *journal* is the file of JSON lines in which ``skconftree label`` saves labels.
"""

import hashlib
import os
import zipfile

from .. import __version__
from ..active import LabelingSession
from ..utils import load
from ._table import LABELED, TEXTS  # keys of the metadata of a model
from ._text import UserError, counted, say, shorten
from ._text_model import load_text_model

JOURNAL = b'{"journal": '  # how a journal of labels starts
PICKLE = b"\x80"  # how a pickle of protocol 2 or later starts
MAX_TEXT = 70  # characters of a list of names
BLOCK = 2**20  # bytes


def run_check(options):
    """Run ``skconftree check`` and return the exit code."""
    path = options.file
    try:
        if not os.path.isfile(path):  # a pipe has no end
            os.stat(path)
            raise UserError(f"cannot read {path}: it is not a file")
        with open(path, "rb") as file:
            start = file.read(len(JOURNAL))
            digest, size = hashlib.sha256(start), len(start)
            while block := file.read(BLOCK):
                digest.update(block)
                size += len(block)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror or error}"
        raise UserError(message) from error
    if start == JOURNAL:
        contents = _of_journal(path)
    else:
        _refuse_other_kinds(path, start)
        contents = _of_model(path)
    contents = {"file": f"{path}, {counted(size, 'byte')}"} | contents
    contents |= {"sha256": digest.hexdigest()}
    width = max(map(len, contents)) + 2
    for name, text in contents.items():
        # names and labels of a file may contain line breaks
        say(f"{name:{width}}{text}".replace("\n", "\\n"))
    return 0


def _refuse_other_kinds(path, start):
    # Files with models that other libraries read.
    if start.startswith(PICKLE):
        raise UserError(
            f"{path} seems to be a pickle, which can contain any program; check where "
            "it comes from before you load it in Python"
        )
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except zipfile.BadZipFile:
            return  # the loader of models reports it
        if "schema.json" in names:
            raise UserError(
                f"{path} seems to be a file of skops; list its types in Python by "
                "skops.io.get_untrusted_types(file=...)"
            )


def _of_model(path):
    model, metadata = load(path)
    if TEXTS in metadata:  # "run" has its vocabulary and coefficients
        return _of_texts(load_text_model(model, metadata["run"]), metadata)
    names = getattr(model, "feature_names_in_", None)
    contents = {"contains": type(model).__name__}
    if _is_compact(model):
        contents["contains"] += ", for predictions alone (compact=True)"
    contents["written by"] = _versions(metadata.get("version"))
    if hasattr(model, "n_rows_seen_"):
        contents["rows"] = f"{model.n_rows_seen_:,}"
    contents["columns"] = _counted_names(model.n_features_in_, names)
    if hasattr(model, "classes_"):
        contents["classes"] = _counted_names(
            len(model.classes_), model.classes_.tolist()
        )
    return contents


def _of_texts(model, metadata):
    features, classes = metadata["features"], model.classes_.tolist()
    return {
        "contains": f"model of texts, {type(model.classifier).__name__}",
        "written by": _versions(metadata.get("version")),
        "labels": f"{metadata[LABELED]:,}",
        "columns": _counted_names(len(features), features),
        "classes": _counted_names(len(classes), classes),
    }


def _is_compact(model):
    trees = [model.tree_] if hasattr(model, "tree_") else []
    trees += [member.tree_ for member in getattr(model, "estimators_", ())[:1]]
    return any(not hasattr(tree, "counts") for tree in trees)


def _of_journal(path):
    contents = LabelingSession.describe(path)
    # `n_columns` is None if the rows are texts
    n_columns, labels = contents["n_columns"], contents["labels"]
    return {
        "contains": "journal of labels",
        "written by": _versions(contents["version"]),
        "rows": f"{contents['n_rows']:,}, {contents['n_labeled']:,} with a label",
        "columns": "texts" if n_columns is None else f"{n_columns:,}",
        "classes": _counted_names(len(labels), labels),
    }


def _versions(writer):
    return f"skconftree {writer}, which this version, {__version__}, can read"


def _counted_names(n, names):
    if names is None or n == 0:
        return f"{n:,}"
    return f"{n:,}: {shorten(', '.join(map(str, names)), MAX_TEXT)}"
