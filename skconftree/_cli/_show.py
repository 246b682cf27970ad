"""``skconftree show``: print a saved model, or convert it."""

import warnings

from joblib import dump

from ..inspection import ConfidenceTreeDisplay
from ..tree import export_html, export_rules, export_text
from ..utils import load_model
from ._files import atomic_write, check_files, write_text
from ._text import UserError, printable, standard_output, warn

# What writes a model as text, by the choice of --as.
WRITERS = {
    "text": export_text,
    "rules": lambda model: export_rules(model, "list"),
    "sql": export_rules,
    "python": export_rules,
    "html": export_html,
    "svg": lambda model: ConfidenceTreeDisplay.from_estimator(model).to_svg(),
    "json": lambda model: export_rules(model, "json"),
}


def run_show(options):
    """Run ``skconftree show`` and return the exit code."""
    check_files(options)
    model, form = load_model(options.model), getattr(options, "as")
    arguments = {"language": form} if form in ("sql", "python") else {}
    if options.dialect is not None:
        if form != "sql":
            raise UserError("--dialect is for --as sql")
        arguments["dialect"] = options.dialect
    if form == "sklearn" and options.output is None:
        raise UserError("--as sklearn needs --output FILE, which joblib.load reads")
    if form == "sklearn":
        if not hasattr(model, "to_sklearn"):
            raise UserError(
                f"{type(model).__name__} has no counterpart in scikit-learn"
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            copy = model.to_sklearn()
        for warning in caught:
            warn(printable(str(warning.message)))
        with atomic_write(options.output) as file:
            dump(copy, file)
        return 0
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
