"""``skconftree show``: print a saved model, or convert it.

A model of the command line stores `readings`: how the values of each column are parsed.
"""

import warnings
from functools import partial

from joblib import dump

from ..inspection import ConfidenceTreeDisplay
from ..tree import export_html, export_onnx, export_rules, export_text
from ..utils import load
from ._columns import DATE_PARSERS
from ._files import atomic_write, check_files, write_text
from ._table import check_is_tree
from ._text import UserError, printable, standard_output, warn

# What writes a model as text, by the choice of --as.
WRITERS = {
    "text": export_text,
    "rules": partial(export_rules, language="list"),
    "sql": partial(export_rules, language="sql"),
    "python": export_rules,
    "html": export_html,
    "svg": lambda model: ConfidenceTreeDisplay.from_estimator(model).to_svg(),
    "json": partial(export_rules, language="json"),
}
# Forms for other programs, which read dates as the numbers that the model has learned.
NUMERIC = ("sql", "python", "json", "onnx", "sklearn")


def run_show(options):
    """Run ``skconftree show`` and return the exit code."""
    check_files(options)
    (model, metadata), form = load(options.model), getattr(options, "as")
    check_is_tree(options.model, metadata)
    if options.dialect is not None and form != "sql":
        raise UserError("--dialect is for --as sql")
    if form in NUMERIC:
        _warn_of_dates(model, metadata)
    if form in BINARY:
        if options.output is None:
            raise UserError(f"--as {form} needs --output FILE")
        BINARY[form](model, options.output)
        return 0
    arguments = {} if options.dialect is None else {"dialect": options.dialect}
    try:
        text = WRITERS[form](model, **arguments)
    except TypeError as error:  # a model that is not a tree
        raise UserError(str(error)) from error
    if options.output is None:
        with standard_output() as file:
            print(printable(text) if file.isatty() else text, file=file)
    else:
        write_text(options.output, f"{text}\n")
    return 0


def _warn_of_dates(model, metadata):
    dates = {parser.name for parser in DATE_PARSERS}
    names = getattr(model, "feature_names_in_", ())
    for name, parser in zip(names, metadata.get("readings", ()), strict=False):
        if parser in dates:
            warn(printable(f"{name}: pass dates as days since 1970-01-01"))


def _write_copy(model, output):
    # Writes scikit-learn's counterpart of a model, which joblib.load reads.
    if not hasattr(model, "to_sklearn"):
        raise UserError(f"{type(model).__name__} has no counterpart in scikit-learn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        copy = model.to_sklearn()
    for warning in caught:
        warn(printable(str(warning.message)))
    with atomic_write(output) as file:
        dump(copy, file)


def _write_onnx(model, output):
    try:
        converted = export_onnx(model).SerializeToString()
    except (ImportError, TypeError, ValueError) as error:
        raise UserError(str(error)) from error
    with atomic_write(output) as file:
        file.write(converted)


# What writes a model to a file that is not text.
BINARY = {"sklearn": _write_copy, "onnx": _write_onnx}
