"""Sixteen real tables, halved again in each paired run: for studies of distillation."""

import time

from common import options as command
from common.data import data_folder
from common.timing import print_environment
from sklearn.model_selection import ShuffleSplit

from studies.active_sets import OTHERS, SMALL, table


def halves(runs):
    """Rows to learn from and test rows."""
    return ShuffleSplit(runs, test_size=0.5, random_state=0)


def begin(script, about, argv, parts=(), runs=20):
    """Read the options; answer them, the results, and name, X, y of each table."""
    parser = command.parser(about, "data", "quick", "json")
    if parts:
        parser.add_argument("--part", choices=parts, help="one of the tables")
    parser.add_argument("--runs", type=int, default=runs, help="paired runs")
    options = parser.parse_args(argv)
    folder = data_folder(options.data)
    names = sorted(SMALL + OTHERS)
    if options.quick:
        names, options.runs = names[:2], 2
    results = command.tables(script, options, f"{options.runs} paired runs")
    print_environment(results.facts)
    return options, results, _each(names, folder)


def _each(names, folder):
    for name in names:
        start = time.process_time()
        yield name, *table(name, folder)
        print(f"{name}: {time.process_time() - start:.0f} CPU s", flush=True)
