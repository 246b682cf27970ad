"""Arguments of the command line.

This module imports no slow modules, so that help and usage errors appear immediately.
"""

import argparse
import difflib
import importlib
import sys

from ._text import warn

# The names are repeated here, because the compiled modules are slow to import.
BOUNDS = (
    "gtest credible possibilistic hoeffding mcdiarmid derosa chi2 ec2 evalue "
    "bayes_factor"
).split()
PRUNINGS = ("pessimistic", "c45", "chi2", "ec2", "possibilistic", "cost_complexity")
CRITERIA = (
    "gini entropy log_loss kearns_mansour error gain_ratio ec2 balance imbalance"
).split()
# Baselines, and the maximal number of rows for which they are the default.
BASELINES = {"all": 50_000, "cart": 500_000, "none": float("inf")}
BUDGET = 60.0  # CPU seconds for the baselines
ALPHA = 0.05  # family-wise error of an audit
TABLE = (
    ".csv, plain or packed as .gz, .bz2 or .xz, with a header; .parquet (needs "
    "pyarrow); or - for CSV on standard input"
)
COLUMNS = (
    "a column of strings is nominal, dates and numbers such as $1,234 become numbers, "
    "and an empty field, ?, NaN or a text among numbers is a missing value"
)
DECIMAL = (
    "detected from the numbers; if 1,234 or 1.234 is ambiguous, a comma in files "
    "with semicolons and a point in others"
)
STRATEGIES = (
    "auto random margin entropy least_confident vote_entropy k_center diversity "
    "density leaf_risk leaf_entropy expected_error"
).split()
TABLES = (".csv", ".tsv", ".txt", ".gz", ".bz2", ".xz", ".parquet", ".pq")  # endings
SHELLS = ("bash", "zsh", "fish")


class Parser(argparse.ArgumentParser):
    """Argument parser with one-line errors and suggestions."""

    def parse_args(self, args=None, namespace=None):
        options, rest = self.parse_known_args(args, namespace)
        if rest:
            hint = ""
            if rest[0].startswith("--"):
                hint = "; parameters of the tree are given by --set NAME=VALUE"
            elif getattr(options, "target", "") is None:
                hint = f"; the column to predict is given by --target {rest[0]}"
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return options

    def error(self, message):
        self.exit(2, f"skconftree: error: {message}\n")

    def _print_message(self, message, file=None):
        # argparse ignores output that cannot be written
        if file is not None and file is sys.stdout:
            file.write(message)
        else:
            warn(message, end="")


def make_parser(version):
    """Create the parser of the command line."""
    parser = Parser(
        prog="skconftree",
        description="Decision trees that report the evidence for each split. Without "
        "arguments: an example and a list of commands. `skconftree fit` alone takes a "
        "table that comes with scikit-learn. `skconftree "
        "DATA.csv --target COLUMN` is `skconftree fit DATA.csv --target COLUMN`.",
        epilog=f"bounds: {', '.join(BOUNDS)}, none (plain CART). criteria: "
        f"{', '.join(CRITERIA)}. `skconftree COMMAND --help` lists all options.",
    )
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    _add_fit(commands)
    _add_predict(commands)
    _add_audit(commands)
    _add_stream(commands)
    _add_label(commands)
    completion = commands.add_parser(
        "completion",
        help="print a script for shell completion of commands and options",
        description='For bash: eval "$(skconftree completion bash)" in ~/.bashrc; '
        "for zsh the same in ~/.zshrc; for fish: skconftree completion fish > "
        "~/.config/fish/completions/skconftree.fish",
    )
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(run=later("_completion", "run_completion"))
    return parser


def later(module, function):
    """Return a function that imports its module when it is called."""

    def run(options):
        loaded = importlib.import_module(f"{__package__}.{module}")
        return getattr(loaded, function)(options)

    return run


def _add_fit(commands):
    fit = commands.add_parser(
        "fit",
        help="fit a confidence tree to a table, print it, and compare it with CART",
        description="Fits a confidence tree to all rows. Prints a summary, the tree "
        "with the evidence for each split, its cross-validated figures and those of "
        "CART and of pruned CART, the confusion matrix, the importance of features, "
        "and the calibration of probabilities.",
    )
    fit.add_argument("data", nargs="?", metavar="DATA", help=f"{TABLE}; {COLUMNS}")
    fit.add_argument("--target", metavar="COLUMN", help="the column to predict")
    fit.add_argument(
        "--test",
        metavar="FILE",
        help="another table with the same columns, on which the tree is tested",
    )
    _add_columns(fit)
    _add_reading(fit)
    _add_dates(fit)
    _add_tree(fit)
    fit.add_argument(
        "--folds", type=at_least(2), default=10, metavar="N", help="default: 10"
    )
    fit.add_argument(
        "--baselines",
        choices=BASELINES,
        help=f"what to compare with; default: all up to {BASELINES['all']:,} rows, "
        f"cart up to {BASELINES['cart']:,}, none beyond",
    )
    fit.add_argument(
        "--budget",
        type=seconds,
        default=BUDGET,
        metavar="SECONDS",
        help=f"CPU time for the baselines; default: {BUDGET:g}",
    )
    _add_flag(
        fit,
        "--verbose",
        "also print weak splits and the statistics of the bound at each split; report "
        "progress on standard error even if that is not a terminal",
    )
    fit.add_argument(
        "--output",
        metavar="MODEL",
        help="save the tree to this file, for `skconftree predict`",
    )
    fit.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the tree to this file: .svg, or .png or .pdf (need matplotlib)",
    )
    _add_report(fit)
    _add_json(fit, "the figures and the tree")
    _add_flag(
        fit,
        "--in-parts",
        "fit a Parquet file larger than memory, with numbers in 255 bins, and "
        "print only the tree",
    )
    fit.set_defaults(run=_run_fit)


def _run_fit(options):
    return later("_fit", "run_in_parts" if options.in_parts else "run_fit")(options)


def _add_predict(commands):
    predict = commands.add_parser(
        "predict",
        help="predict the rows of a table with a model saved by fit or stream",
        description="Writes CSV: the predicted class of each row and its probability, "
        "with the separator, decimal sign, encoding and byte order mark of DATA.",
    )
    _add_model_and_data(predict)
    _add_reading(predict, "that of the table that the model was trained on")
    _add_flag(predict, "--proba", "write the probability of each class")
    _add_list(
        predict,
        "--keep",
        "columns of DATA to write before the prediction, or all; missing values are "
        "left empty",
    )
    predict.add_argument(
        "--output", metavar="FILE", help="output file; default: standard output"
    )
    _add_verbose(predict)
    predict.set_defaults(run=later("_predict", "run_predict"))


def _add_audit(commands):
    audit = commands.add_parser(
        "audit",
        help="test each split of a saved tree on new labeled rows",
        description="Tests each split of a saved tree on labeled rows that the tree "
        "was not trained on: a split is confirmed, not confirmed, or undecided because "
        "the rows are too few. The probability of confirming any split whose branches "
        "do not differ is at most --alpha (family-wise error).",
    )
    _add_model_and_data(audit)
    audit.add_argument(
        "--alpha",
        type=share,
        default=ALPHA,
        metavar="A",
        help=f"family-wise error, between 0 and 1; default: {ALPHA}",
    )
    _add_reading(audit, "that of the table that the model was trained on")
    _add_flag(audit, "--skip-missing", "skip rows whose target is missing")
    _add_json(audit, "the verdicts")
    _add_flag(
        audit,
        "--verbose",
        "also print weak splits and one line per split; report progress on standard "
        "error even if that is not a terminal",
    )
    audit.set_defaults(run=later("_audit", "run_audit"))


def _add_stream(commands):
    stream = commands.add_parser(
        "stream",
        help="test a confidence tree on each row of a table, then let it learn the row",
        description="Prequential evaluation of a table that is never loaded as a "
        "whole: the tree predicts each row, then learns it. Its accuracy is compared "
        "with repeating the label before and with the most frequent label. With "
        "--output, the tree is saved at intervals. A run that was stopped or killed "
        "continues with --resume and ends with the same tree, to the byte.",
    )
    stream.add_argument(
        "data",
        metavar="DATA",
        help=f"{TABLE}; {COLUMNS}; the first 1000 rows determine the column types",
    )
    stream.add_argument(
        "--target", metavar="COLUMN", required=True, help="the column to predict"
    )
    stream.add_argument(
        "--classes",
        metavar="A,B,...",
        type=names,
        help="all labels; by default, a first pass over the table collects them",
    )
    stream.add_argument(
        "--pos-label",
        metavar="LABEL",
        help="the class whose F1 is reported; default: the second of two classes",
    )
    _add_columns(stream)
    stream.add_argument(
        "--delay",
        type=at_least(0),
        default=0,
        metavar="ROWS",
        help="delay of the labels: a row is learned after this many more rows have "
        "been predicted; default: 0",
    )
    _add_reading(stream)
    _add_dates(stream)
    _add_tree(stream)
    stream.add_argument(
        "--chunk-size",
        type=at_least(1),
        default=1000,
        metavar="ROWS",
        help="rows read at a time; does not affect the result; default: 1000",
    )
    stream.add_argument(
        "--output",
        metavar="MODEL",
        help="save the tree to this file, for `skconftree predict` and --resume",
    )
    _add_flag(stream, "--resume", "continue with MODEL if it exists")
    stream.add_argument(
        "--checkpoint-every",
        type=at_least(1),
        default=100_000,
        metavar="ROWS",
        help="number of rows between two saves; default: 100000",
    )
    stream.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the accuracy over time to this file: .svg, .png or .pdf (needs "
        "matplotlib)",
    )
    _add_report(stream)
    _add_json(stream, "the figures")
    _add_verbose(stream)
    stream.set_defaults(run=later("_stream", "run_stream"))


def _add_label(commands):
    label = commands.add_parser(
        "label",
        help="label the most informative rows of a table (active learning)",
        description="Shows one row after the other, in a terminal or in a browser, and "
        "asks for its label. Each label is saved before the next question, so that "
        "the command continues when it is started again. At the end, the table is "
        "written with labels, predictions and annotators.",
    )
    label.add_argument("data", metavar="POOL", help=TABLE)
    _add_list(
        label, "--labels", "labels to choose from; default: those in the target column"
    )
    label.add_argument(
        "--target",
        metavar="COLUMN",
        default="label",
        help="column with the labels that are known; it may be missing; default: label",
    )
    _add_list(label, "--text", "columns of sentences, whose words become features")
    label.add_argument(
        "--show",
        metavar="A,B,...",
        type=names,
        help="columns to show; default: all, or those of --text",
    )
    _add_list(label, "--ignore", "columns that are shown but not used as features")
    label.add_argument(
        "--budget",
        type=at_least(1),
        default=50,
        metavar="N",
        help="total number of labels, including earlier sessions; default: 50",
    )
    label.add_argument(
        "--stop-risk",
        type=share,
        metavar="SHARE",
        help="stop earlier, when the share of wrong predictions is with confidence at "
        "most this, such as 0.05; one question in five is drawn at random for that",
    )
    label.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="auto",
        help="query strategy; those of leaves use a single tree; default: auto",
    )
    label.add_argument(
        "--answers",
        metavar="FILE",
        help="file of the answers; default: POOL.answers.jsonl",
    )
    label.add_argument("--annotator", metavar="NAME", help="name of the annotator")
    _add_flag(
        label,
        "--web",
        "ask on a web page for a browser on this machine; its address is printed",
    )
    label.add_argument(
        "--images",
        metavar="DIR",
        help="folder of images; the page shows them if a column has their relative "
        "paths",
    )
    label.add_argument(
        "--output",
        metavar="FILE",
        help="the table with labels and predictions; default: POOL.labeled.csv",
    )
    _add_nominal(label)
    _add_numeric(label)
    _add_reading(label)
    _add_dates(label)
    label.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    label.set_defaults(run=later("_label", "run_label"))


def _add_model_and_data(command):
    command.add_argument(
        "model", metavar="MODEL", help="saved by --output of fit or stream"
    )
    command.add_argument(
        "data",
        metavar="DATA",
        help=f"{TABLE}; needs the columns that the model was trained on, in any order",
    )


def _add_nominal(command):
    _add_list(
        command,
        "--nominal",
        "columns whose values are categories even if all are numbers",
    )


def _add_numeric(command):
    _add_list(
        command,
        "--numeric",
        "columns of numbers that would be read as codes, because all have the same "
        "length and some begin with 0",
    )


def _add_columns(command):
    _add_nominal(command)
    _add_numeric(command)
    _add_list(command, "--drop", "columns to leave out, such as IDs")
    _add_flag(command, "--skip-missing", "skip rows whose target is missing")


def _add_list(command, option, text):
    command.add_argument(option, metavar="A,B,...", type=names, default=[], help=text)


def _add_flag(command, option, text):
    command.add_argument(option, action="store_true", help=text)


def _add_reading(command, decimal=DECIMAL):
    command.add_argument(
        "--encoding",
        metavar="NAME",
        help="encoding of CSV, such as latin-1 or cp1252; default: that of the byte "
        "order mark (UTF-8, UTF-16, UTF-32), otherwise utf-8",
    )
    command.add_argument(
        "--delimiter",
        metavar="SIGN",
        help="delimiter of CSV, or tab; default: the most frequent of , ; | and tab in "
        "the header",
    )
    command.add_argument(
        "--decimal",
        choices=(".", ","),
        metavar="SIGN",
        help="decimal sign (. or ,) of numbers that are written as text; "
        f"default: {decimal}",
    )


def _add_dates(command):
    command.add_argument(
        "--dates",
        choices=("dmy", "mdy"),
        help="order of dates such as 31.12.2024 (dmy) or 12/31/2024 (mdy), which are "
        "read as numbers of days; default: the order that fits, if only one does",
    )


def _add_tree(command):
    command.add_argument(
        "--bound",
        metavar="NAME",
        help=f"bound that a split must pass: {', '.join(BOUNDS)}; none for plain CART",
    )
    command.add_argument(
        "--delta",
        type=float,
        help="threshold of the bound; smaller is stricter for most",
    )
    command.add_argument(
        "--criterion",
        metavar="NAME",
        help=f"split criterion: {', '.join(CRITERIA)}; the default depends on the "
        "bound",
    )
    command.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="any other parameter of ConfidenceTreeClassifier, such as drift=adwin or "
        "max_depth=3; parameters of the bound and the pruning are bound__NAME and "
        "pruning__NAME; may be repeated",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")


def _add_report(command):
    command.add_argument(
        "--report", metavar="FILE", help="write a report to this .html file"
    )


def _add_json(command, what):
    command.add_argument(
        "--json",
        metavar="FILE",
        help=f"write {what} to this file as JSON; - means standard output",
    )


def _add_verbose(command):
    _add_flag(
        command,
        "--verbose",
        "report progress on standard error even if that is not a terminal",
    )


def names(text):
    """Split a comma-separated list of names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def seconds(text):
    """Parse a nonnegative number of seconds."""
    value = float(text)
    if not value >= 0.0:
        raise argparse.ArgumentTypeError("must be at least 0")
    return value


def share(text):
    """Parse a number between 0 and 1."""
    value = float(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError("must be between 0 and 1")
    return value


def at_least(least):
    """Return the type of an option that is an integer of at least `least`."""

    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return min(value, sys.maxsize)  # larger values have no use

    return number


def did_you_mean(name, known):
    """Return a sentence, after a space, that suggests a known name, or an empty str."""
    lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""
