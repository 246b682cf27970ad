"""``skconftree fit --in-parts``: a tree of a Parquet file larger than memory."""

import warnings

from skconftree import __version__, large

from ._checkpoint import save
from ._columns import POINT
from ._common import (
    check_labels_known,
    check_number_of_classes,
    make_tree,
    tree_settings,
)
from ._files import check_files
from ._fit import saved_text, tree_text
from ._own_columns import left_out, own_notes
from ._parquet_stream import ParquetStream
from ._pictures import check_picture, draw_tree
from ._reading import places_of
from ._run import FITTED
from ._text import Progress, UserError, say

BINS = 255
# What looks at the rows of a table in memory, or reads its texts in another way.
REFUSED = (
    *("test", "report", "json", "rivals", "skip_missing"),
    *("nominal", "numeric", "decimal", "dates"),
)


def run_in_parts(options):
    """Do the command; return the exit code."""
    with Progress(verbose=options.verbose) as progress:
        for name in REFUSED:
            if getattr(options, name):
                raise UserError(
                    f"--{name.replace('_', '-')} needs the table in memory, and "
                    "--in-parts does not have it there"
                )
        if options.data is None or options.target is None:
            raise UserError("--in-parts needs a table in a Parquet file, and --target")
        check_files(options, saves_model=True)
        check_picture(options.plot, of_tree=True)
        tree = make_tree({"max_bins": BINS} | tree_settings(options))
        progress.tell(f"reading {options.data} and growing a tree")
        for note in _fit(tree, options):
            progress.note(f"note: {note}")
        progress.clear()
        _finish(tree, options)
    return 0


def _fit(tree, options):
    """Fit the tree; give what it warns of."""
    with ParquetStream(options.data, options.target) as stream:
        ours = left_out(stream, options.drop)
        out = set(places_of([*options.drop, *ours], stream, "--drop"))
        columns = [name for j, name in enumerate(stream.features) if j not in out]
        guesses = dict(zip(stream.features, stream.look_ahead(), strict=True))
        notes = [
            f"column {name!r}: strings such as these are numbers or dates to `fit` "
            "without --in-parts, and are categories here; write numbers to the file"
            for name in columns
            if stream.holds_texts(name) and guesses[name].reading is not None
        ]
    if not columns:
        raise UserError("--drop leaves no column to learn from")
    _check_target(options)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            large.fit(tree, options.data, target=options.target, columns=columns)
    except (ValueError, OSError, RuntimeError) as error:
        raise UserError(str(error)) from error
    if len(tree.classes_) < 2:
        raise UserError(f"all rows of {options.data} have the class {tree.classes_[0]}")
    return [*own_notes(ours), *notes, *(str(one.message) for one in caught)]


def _check_target(options):
    """Refuse a target that is not one of classes, before the work on the others."""
    with ParquetStream(options.data, options.target) as stream:
        labels = stream.labels()
        check_labels_known(labels, options.target)
        check_number_of_classes(len(labels), stream.n_rows, options.target)


def _finish(tree, options):
    """Write the files, then print."""
    names = tree.feature_names_in_.tolist()
    shown = {
        "feature_names": names,
        "class_names": [str(one) for one in tree.classes_],
    }
    if options.output is not None:
        nominal = tree.is_categorical_
        facts = {
            "kind": FITTED,
            "version": __version__,
            "target": options.target,
            "features": names,
            "readings": [
                None if nominal is not None and nominal[j] else POINT.name
                for j in range(len(names))
            ],
        }
        save(options.output, tree, facts)
    if options.plot is not None:
        draw_tree(options.plot, tree, shown)
    say(
        f"{options.data}: {tree.n_rows_seen_} rows, {len(names)} columns, "
        f"{len(tree.classes_)} classes, in parts\n\n{tree_text(tree, shown, options)}"
    )
    if options.output is not None:
        say(saved_text(options.output))
