"""Arguments of the command line.

This module imports no slow modules, so that help and usage errors appear immediately.
The *evidence* for a split is the number of candidate splits that would look as good by
chance; a confidence tree only makes splits for which it is small. A partially linear
tree adds a linear *score* of the columns to the values of its leaves.
"""

import argparse
import difflib
import importlib
import re
import sys

from ._text import Progress, warn

# The names are repeated here, because the compiled modules are slow to import. A bound
# is the split rule of a tree. The names are explained in skconftree.bounds and
# skconftree.criteria, prunings in skconftree.tree, query strategies in
# skconftree.active.
BOUNDS = (
    "gtest credible possibilistic hoeffding mcdiarmid derosa chi2 ec2 evalue "
    "bayes_factor ctree"
).split()
PRUNINGS = ("pessimistic", "c45", "chi2", "ec2", "possibilistic", "cost_complexity")
CRITERIA = (
    "gini entropy log_loss kearns_mansour error gain_ratio ec2 balance imbalance"
).split()
# Baselines, and the maximal number of rows for which they are the default.
BASELINES = {"all": 50_000, "cart": 500_000, "none": float("inf")}
BUDGET = 60.0  # CPU seconds for the baselines
ALPHA = 0.05  # family-wise error of an audit, the tests of all splits
TABLE = (
    ".csv with a header or .jsonl, plain or compressed as .gz, .bz2 or .xz; .parquet "
    "(needs pyarrow); a folder or a pattern of such files, whose folders named "
    "column=value are columns; an address of fsspec, such as s3://...; or - for CSV or "
    "JSON lines on standard input"
)
COLUMNS = (
    "a column of strings is nominal, dates and numbers such as $1,234 become numbers, "
    "and an empty field, ?, NaN or a text among numbers is a missing value"
)
STRATEGIES = (
    "auto random margin entropy least_confident most_likely vote_entropy k_center "
    "diversity density leaf_risk leaf_entropy expected_error"
).split()
TABLES = (
    ".csv",
    ".tsv",
    ".txt",
    ".jsonl",
    ".ndjson",
    ".gz",
    ".bz2",
    ".xz",
    ".parquet",
    ".pq",
)  # endings
SHELLS = ("bash", "zsh", "fish")
METRICS = ("accuracy", "error", "precision", "recall", "f1", "log_loss")
EVALUATE_BUDGET = 100  # labels, without another rule

SAME_DECIMAL = "that of the table that the model was trained on"
FREE_DECIMAL = (
    "detected from the numbers; if 1,234 or 1.234 is ambiguous, a comma in files "
    "with semicolons and a point in others"
)

# Options of several commands: name, metavar, and on indented lines the help. An option
# without metavar and without a row in KEYWORDS is a flag; A,B,... is a list of names.
MODEL_AND_DATA = f"""
model MODEL
  saved by --output of fit or stream
data DATA
  {TABLE}; needs the columns that the model was trained on, in any order
"""
NOMINAL = """
--nominal A,B,...
  columns whose values are categories even if all are numbers
--numeric A,B,...
  columns of numbers that would be read as codes, because all have the same length and
  some begin with 0
"""
SKIP_MISSING = """
--skip-missing
  skip rows whose target is missing
"""
DROP = f"""
--drop A,B,...
  columns to leave out, such as IDs
{SKIP_MISSING}"""
READING = """
--encoding NAME
  encoding of CSV, such as latin-1 or cp1252; default: that of the byte order mark
  (UTF-8, UTF-16, UTF-32), otherwise utf-8
--delimiter SIGN
  delimiter of CSV, or tab; default: the most frequent of , ; | and tab in the header
--decimal SIGN
  decimal sign (. or ,) of numbers that are written as text; default: """
DATES = """
--dates
  order of dates such as 31.12.2024 (dmy) or 12/31/2024 (mdy), which are read as numbers
  of days; default: the order that fits, if only one does
"""
ANNOTATION = """
--annotator NAME
  name of the annotator
--web
  ask on a web page for a browser on this machine; its address is printed
--images DIR
  folder of images; the page shows them if a column has their relative paths"""
SEED = """
--seed N
  default: 0
"""
TREE = f"""
--bound NAME
  bound (rule that accepts or rejects a split): {", ".join(BOUNDS)}; none for plain CART
--delta
  threshold of the bound; for most bounds, a smaller value is stricter
--criterion NAME
  split criterion: {", ".join(CRITERIA)}; the default depends on the bound
--set NAME=VALUE
  any other parameter of ConfidenceTreeClassifier, such as drift=adwin or max_depth=3;
  parameters of the bound and the pruning are bound__NAME and pruning__NAME; may be
  repeated
{SEED}"""
FORMS = "text rules sql python html svg json onnx sklearn".split()
DIALECTS = "ansi postgres sqlite duckdb mysql bigquery spark snowflake mssql".split()
REPORT = """
--report FILE
  write a report to this .html file
"""
VERBOSE = """
--verbose
  report progress on standard error even if that is not a terminal
"""

# Of each command: its module and function, summary, description, and options.
#
# Weak splits are those with little evidence. The detectors adwin and ddm replace the
# whole tree if a drift is detected, and local replaces the subtrees that it affects. A
# second opinion is another label of a labeled row. A recall is certified by rows drawn
# at random.
COMMANDS = {
    "fit": (
        "_fit run_fit",
        "fit a confidence tree to a table, print it, and compare it with CART",
        "Fits a confidence tree to all rows. Prints a summary, the tree with the "
        "evidence for each split, its cross-validated figures and those of CART and of "
        "pruned CART, the confusion matrix, the importance of features, and the "
        "calibration of probabilities.",
        f"""
data DATA
  {TABLE}; {COLUMNS}
--target COLUMN
  the column to predict
--test FILE
  another table with the same columns, on which the tree is tested
{NOMINAL}{DROP}{READING}{FREE_DECIMAL}{DATES}{TREE}
--linear N
  fit a tree plus a linear score of N columns, those with the strongest evidence given
  the tree; N may be all, or auto: a cross-validation selects the number of columns
--folds N
  number of folds of the cross-validation; default: 10, or no cross-validation with
  --in-parts
--baselines
  what to compare with; default: all up to {BASELINES["all"]:,} rows, cart up to
  {BASELINES["cart"]:,}, none beyond
--budget SECONDS
  CPU time for the baselines; default: {BUDGET:g}
--verbose
  also print weak splits and the statistics of the bound at each split; report progress
  on standard error even if that is not a terminal
--output MODEL
  save the tree to this file, for `skconftree predict`
--plot FILE
  draw the tree to this file: .svg, or .png or .pdf (need matplotlib)
{REPORT}
--json FILE
  write the figures and the tree to this file as JSON; - means standard output
--in-parts
  fit Parquet files larger than memory, with numbers in 255 bins; without baselines,
  and with a cross-validation only if --folds is given
""",
    ),
    "predict": (
        "_predict run_predict",
        "predict the class of each row of a table with a model saved by fit or stream",
        "Writes the predicted class of each row and its probability, some rows at a "
        "time: as Parquet if --output ends with .parquet, otherwise as CSV with the "
        "separator, decimal sign, encoding and byte order mark of DATA.",
        f"""
{MODEL_AND_DATA}{READING}{SAME_DECIMAL}
--proba
  write the probability of each class
--keep A,B,...
  columns of DATA to write before the prediction, or all; missing values are left empty
--explain
  write a column that explains each prediction: the conditions of the leaf, or of a
  model with a linear score the contributions that add up to its log odds
--output FILE
  output file; default: standard output
{VERBOSE}""",
    ),
    "show": (
        "_show run_show",
        "print a saved model, or convert it to rules, SQL, ONNX and other forms",
        "Prints a model that fit, stream or skconftree.save_model saved. SQL and "
        "Python give the probability of each class. The forms html and svg are "
        "pictures, onnx is a model for onnxruntime, and sklearn is scikit-learn's "
        "counterpart as a file of joblib.",
        """
model MODEL
  saved by --output of fit or stream
--as
  form of the result; default: text
--dialect
  dialect of --as sql; default: ansi
--output FILE
  output file; default: standard output; required by --as onnx and sklearn
""",
    ),
    "check": (
        "_check run_check",
        "report what a saved file contains, and whether this version can read it",
        "Reports the class, rows, columns and labels of a saved model, or the rows "
        "and labels of a journal (the file of answers that label writes), the version "
        "that wrote the file, and its SHA-256 hash. No code of the file is executed. "
        "The exit code is 1 if this version cannot read the file.",
        """
file FILE
  model saved by fit, stream or skconftree.save_model, or journal written by label
""",
    ),
    "audit": (
        "_audit run_audit",
        "test each split of a saved tree on new labeled rows",
        "Tests each split of a saved tree on labeled rows that the tree was not "
        "trained on: a split is confirmed, not confirmed, or undecided because the "
        "rows are too few. The probability of confirming any split whose branches do "
        "not differ is at most --alpha (family-wise error).",
        f"""
{MODEL_AND_DATA}
--alpha A
  family-wise error, between 0 and 1; default: {ALPHA}
{READING}{SAME_DECIMAL}{SKIP_MISSING}
--json FILE
  write the verdicts to this file as JSON; - means standard output
--verbose
  also print weak splits and one line per split; report progress on standard error even
  if that is not a terminal
""",
    ),
    "stream": (
        "_stream run_stream",
        "test a confidence tree on each row of a table, then let it learn the row",
        "Prequential evaluation of a table that is never loaded as a whole: the tree "
        "predicts each row, then learns it. Its accuracy is compared with repeating "
        "the previous label and with the most frequent label. With --output, the tree "
        "is saved at intervals. A run that was stopped or killed continues with "
        "--resume and ends with the same tree, byte for byte.",
        f"""
data DATA
  {TABLE}; {COLUMNS}; the first rows determine the column types. With --classes, rows of
  standard input are learned as they arrive
--target COLUMN
  the column to predict
--classes A,B,...
  all labels; by default, a first pass over the table collects them
--settle-after ROWS
  number of first rows that determine the columns and their types; these rows are
  learned once the types are known; default: 1000
--pos-label LABEL
  the class whose F1 is reported; default: the second of two classes
{NOMINAL}{DROP}
--delay ROWS
  delay of the labels: a row is learned after this many more rows have been predicted;
  default: 0
{READING}{FREE_DECIMAL}{DATES}{TREE}
--chunk-size ROWS
  rows read at a time; does not affect the result; default: 1000
--output MODEL
  save the tree to this file, for `skconftree predict` and --resume
--resume
  continue with MODEL if it exists; DATA begins with the rows that it has learned
--append
  with --resume: DATA has only new rows
--position TEXT
  stored in MODEL and printed by --resume, such as the offset of a queue
--checkpoint-every ROWS
  number of rows between two saves; default: 100000
--predictions FILE
  write one line per row to this CSV file as soon as the row is predicted: its number,
  its predicted class, and the probability of that class
--alarms
  print each drift when it is detected (needs --set drift=local, adwin or ddm)
--plot FILE
  draw the accuracy over time to this file: .svg, .png or .pdf (needs matplotlib)
{REPORT}
--json FILE
  write the figures to this file as JSON; - means standard output
{VERBOSE}""",
    ),
    "label": (
        "_label run_label",
        "label the most informative rows of a table (active learning)",
        "Shows one row after the other, in a terminal or in a browser, and asks for "
        "its label. Each label is saved before the next question, so that the command"
        " continues when it is started again. At the end, the table is written with "
        "labels, predictions and annotators.",
        f"""
data POOL
  {TABLE}
--labels A,B,...
  labels to choose from; default: those in the target column; a later session can have
  more
--target COLUMN
  column with the labels that are known; it may be missing; default: label
--text A,B,...
  columns of free text, whose words become features; columns whose values mostly have
  five words or more are recognized
--show A,B,...
  columns to show; default: all, or those of --text
--ignore A,B,...
  columns that are shown but not used as features
--suggest A,B,...
  columns of labels, for example of a language model, that are shown as suggestions and
  accepted with the key =; they are not features
--max-error SHARE
  check the labels of the column --suggest, which are not shown, until at most this
  share of the labels in the written table is wrong, such as 0.03, with 95% confidence;
  labels that were not checked are written as they are
--budget N
  maximum number of answers, including earlier sessions and second opinions, but not
  labels of the table; default: 50, or no limit with --stop-recall or --max-error
--stop-risk SHARE
  stop earlier, when the upper confidence limit of the share of wrong predictions is
  at most this, such as 0.05; to estimate it, one query in five is drawn at random
--stop-recall SHARE
  stop when this share of the rows of the class --pos-label is found, such as 0.95; when
  few further rows are found, it reports how many random rows would certify the share,
  and asks whether to label them
--certify
  agree to certify the share of --stop-recall without being asked
--random-share SHARE
  share of the queries that are drawn at random, such as 0.2, so that the error rate of
  the predictions can be estimated; default: that of earlier sessions, or 0
--repeat SHARE
  share of the queries that ask for a second opinion on a labeled row whose label the
  model doubts, preferably a row that another annotator labeled; default: that of
  earlier sessions, or 0
--strategy
  query strategy; most_likely looks for rows of a rare class; leaf_risk, leaf_entropy
  and expected_error use a single tree; default: auto
--pos-label LABEL
  the class whose recall is shown, with an estimate and a lower limit, and which
  --strategy most_likely looks for; default with these options and --stop-recall: the
  second of two labels
--answers FILE
  journal, the file of the answers; default: POOL.answers.jsonl{ANNOTATION}
--output FILE
  the table with labels and predictions; default: POOL.labeled.csv
--model FILE
  file of the model, for `skconftree predict`; default: POOL.model
{NOMINAL}{READING}{FREE_DECIMAL}{DATES}{SEED}""",
    ),
    "evaluate": (
        "_evaluate run_evaluate",
        "estimate how good a saved model is from few labels",
        "Estimates the accuracy or another metric of a model for the rows of a table, "
        "with confidence limits that are valid after each label. It shows rows in a "
        "terminal or in a browser, and asks for their labels. Rows whose predictions "
        "are doubtful are shown more often, which needs fewer labels than rows drawn "
        "uniformly. Each label is saved before the next question, so that the command "
        "continues when it is started again.",
        f"""
model MODEL
  saved by --output of fit or stream, or by label
data POOL
  {TABLE}; needs the columns that the model was trained on, in any order
--metric
  what is estimated; error is the share of wrong predictions; default: accuracy
--pos-label LABEL
  class whose precision, recall or F1 is estimated; default: the second of two labels
--budget N
  maximum number of labels, including earlier sessions; default: {EVALUATE_BUDGET}, or
  no limit with --half-width
--half-width W
  stop when half of the width of the confidence interval is at most this, such as 0.03
--confidence C
  confidence of the limits at all times together, between 0 and 1; default: 0.95
--target COLUMN
  column with labels that are known; it may be missing; default: that of the model
--labels A,B,...
  labels to choose from besides those of the model
--show A,B,...
  columns to show; default: all
--answers FILE
  journal, the file of the answers; default: POOL.evaluation.jsonl{ANNOTATION}
{READING}{SAME_DECIMAL}{SEED}
--json FILE
  write the estimate to this file as JSON
""",
    ),
    "completion": (
        "_completion run_completion",
        "print a script for shell completion of commands and options",
        'For bash: eval "$(skconftree completion bash)" in ~/.bashrc; for zsh the same '
        "in ~/.zshrc; for fish: skconftree completion fish > "
        "~/.config/fish/completions/skconftree.fish",
        "\nshell",
    ),
}


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
        raise argparse.ArgumentTypeError("must be above 0 and below 1")
    return value


def share_or_zero(text):
    """Parse a number of 0 or more, below 1."""
    value = float(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError("must be at least 0 and below 1")
    return value


def n_columns(text):
    """Parse a number of columns, all, or auto."""
    if text not in ("all", "auto") and not text.isdigit():
        raise argparse.ArgumentTypeError("must be a number of columns, all or auto")
    return text if text in ("all", "auto") else at_least(1)(text)


def at_least(least):
    """Return the type of an option that is an integer of at least `least`."""

    def number(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return min(value, sys.maxsize)  # larger values have no use

    return number


# Keywords of `add_argument` by option, or by command and option.
KEYWORDS = {
    "--folds": {"type": at_least(2)},
    "--linear": {"type": n_columns},
    "--baselines": {"choices": BASELINES},
    "--alpha": {"type": share, "default": ALPHA},
    "--delay": {"type": at_least(0), "default": 0},
    "--chunk-size": {"type": at_least(1), "default": 1000},
    "--settle-after": {"type": at_least(1), "default": 1000},
    "--checkpoint-every": {"type": at_least(1), "default": 100_000},
    "--stop-risk": {"type": share},
    "--half-width": {"type": share},
    "--confidence": {"type": share, "default": 0.95},
    "--metric": {"choices": METRICS, "default": "accuracy"},
    "--stop-recall": {"type": share},
    "--max-error": {"type": share},
    "--random-share": {"type": share_or_zero},
    "--repeat": {"type": share_or_zero},
    "--strategy": {"choices": STRATEGIES, "default": "auto"},
    "--as": {"choices": FORMS, "default": "text"},
    "--dialect": {"choices": DIALECTS},
    "--decimal": {"choices": (".", ",")},
    "--dates": {"choices": ("dmy", "mdy")},
    "--delta": {"type": float},
    "--set": {"action": "append", "default": []},
    "--seed": {"type": int, "default": 0},
    "--classes": {"default": None},
    "--show": {"default": None},
    "shell": {"choices": SHELLS},
    "fit data": {"nargs": "?"},
    "fit --budget": {"type": seconds, "default": BUDGET},
    "stream --target": {"required": True},
    "label --target": {"default": "label"},
    "label --budget": {"type": at_least(1)},
    "evaluate --budget": {"type": at_least(1)},
}


def make_parser(version):
    """Create the parser of the command line."""
    parser = Parser(
        prog="skconftree",
        description="Decision trees that report the evidence for each split. Without "
        "arguments: an example and a list of commands. `skconftree fit` without DATA "
        "uses a table that comes with scikit-learn. `skconftree "
        "DATA.csv --target COLUMN` is `skconftree fit DATA.csv --target COLUMN`.",
        epilog=f"bounds: {', '.join(BOUNDS)}, none (plain CART). criteria: "
        f"{', '.join(CRITERIA)}. `skconftree COMMAND --help` lists all options.",
    )
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (function, summary, description, options) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=description)
        for entry in re.split(r"\n+(?=\S)", options.strip()):
            _add_option(command, name, entry)
        command.set_defaults(run=lazy_function(*function.split()))
    return parser


def _add_option(command, command_name, entry):
    """Add an option, described in a text as in COMMANDS, to a parser."""
    title, _, text = entry.partition("\n")
    option, _, metavar = title.partition(" ")
    keywords = KEYWORDS.get(option, {}) | KEYWORDS.get(f"{command_name} {option}", {})
    if text:
        keywords["help"] = " ".join(text.split()).replace("%", "%%")
    if metavar == "A,B,...":
        keywords = {"type": names, "default": [], **keywords}
    if metavar:
        keywords["metavar"] = metavar
    elif option not in KEYWORDS:
        keywords["action"] = "store_true"
    command.add_argument(option, **keywords)


def lazy_function(module, function):
    """Return a function of a module of this package, imported at the first call."""

    def run(options):
        command = getattr(importlib.import_module(f"{__package__}.{module}"), function)
        if not hasattr(options, "verbose"):
            return command(options)
        with Progress(verbose=options.verbose) as progress:
            return command(options, progress)

    return run


def did_you_mean(name, known):
    """Return a sentence, after a space, that suggests a known name, or an empty str."""
    lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""
