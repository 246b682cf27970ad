"""Loaders of the tables that streams are usually tried on."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import Bunch

from ..utils._types import Method
from ._tables import fetch_table, find_file, read_table, to_bunch


class Source(NamedTuple):
    """Where a table is found, and what it has to look like."""

    stems: tuple  # of file names; the first is what messages call the table
    data_id: int  # at OpenML
    n_features: int
    nominal: tuple = ()


ELECTRICITY = Source(("electricity", "elec"), 151, 8, ("day",))
COVERTYPE = Source(("covertype", "covtype"), 150, 54)
AIRLINES = Source(
    ("airlines",), 1169, 7, ("Airline", "AirportFrom", "AirportTo", "DayOfWeek")
)
A9A = Source(("a9a",), 1430, 123)
COD_RNA = Source(("cod-rna", "codrna"), 351, 8)


def load(source, folder, data_home, n_retries, delay):
    """Return the table, from the folder if one is given."""
    name = source.stems[0]
    if folder is not None:
        table = read_table(find_file(Path(folder), source.stems), source.nominal)
    else:
        table = fetch_table(name, source.data_id, data_home, n_retries, delay)
    if len(table.names) != source.n_features:
        raise ValueError(
            f"The table {name!r} must have {source.n_features} features. The one from "
            f"{table.source} has {len(table.names)}."
        )
    return table


SHARED = """\
folder : str, path or None, default=None
    Folder with a file ``{name}.csv`` or ``{name}.csv.gz``: a header
    line, the label in a column ``target``. None asks OpenML.
data_home : str, path or None, default=None
    Where scikit-learn keeps what it has fetched; None is its default.
n_retries : int, default=3
    How often a failing download is tried.
delay : float, default=1.0
    Seconds between the tries.
as_frame : bool, default=False
    Whether data and target are a pandas DataFrame, nominal columns as
    categories, and a Series.
return_X_y : bool, default=False
    Whether to return ``(data, target)`` alone.

Returns
-------
Bunch
    ``data`` of shape (n_samples, {n_features}), float64, nominal values as codes;
    ``target`` of shape (n_samples,), positions in ``target_names``;
    ``feature_names``; ``categories``, the values of each nominal column;
    ``categorical_features``, a mask of the nominal columns; ``frame``;
    ``DESCR``. With `return_X_y`, a tuple of the first two.

Raises
------
OSError
    If there is no such file, or OpenML cannot be reached.
ValueError
    If the table is not what it should be.

"""
HEADING, NEXT = "Parameters\n----------\n", "References\n"


def loads(source: Any) -> Callable[[Method], Method]:
    """Decorate a loader: what all of them take and give goes into its docstring."""

    def write(loader: Method) -> Method:
        text = loader.__doc__
        if text is not None:  # nor is it with python -OO
            # from 3.13 on Python has taken the indentation out by itself
            before, after = cleandoc(text).split(NEXT)
            own = before.rstrip() + "\n" if HEADING in before else before + HEADING
            name, shared = source.stems[0], SHARED
            shared = shared.format(name=name, n_features=source.n_features)
            loader.__doc__ = own + shared + NEXT + after + "\n"
        return loader

    return write


@loads(ELECTRICITY)
def fetch_electricity(
    *,
    folder: str | Path | None = None,
    data_home: str | Path | None = None,
    n_retries: int = 3,
    delay: float = 1.0,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch:
    """Load the electricity prices of New South Wales.

    45,312 half hours of the market of New South Wales, in order of time: date, day of
    the week (nominal), time of day, and prices and demands scaled to [0, 1]; the label
    is whether the price is above its mean of the last day. Strongly autocorrelated:
    repeating the last label is right in 85 % of the rows, so never judge a stream
    learner by this table alone.

    References
    ----------
    M. Harries, "Splice-2 comparative evaluation: electricity pricing", technical
    report, University of New South Wales, 1999.

    Examples
    --------
    >>> from skconftree.datasets import fetch_electricity
    >>> X, y = fetch_electricity(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (45312, 8)
    """
    table = load(ELECTRICITY, folder, data_home, n_retries, delay)
    return to_bunch(
        table, fetch_electricity.__doc__, as_frame=as_frame, return_X_y=return_X_y
    )


@loads(COVERTYPE)
def fetch_covertype(
    *,
    binary: bool = False,
    folder: str | Path | None = None,
    data_home: str | Path | None = None,
    n_retries: int = 3,
    delay: float = 1.0,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch:
    """Load the forest cover types.

    581,012 cells of 30 by 30 metres, 10 numeric and 44 binary features, seven types of
    forest. At OpenML the numeric ones are scaled to [0, 1].

    Parameters
    ----------
    binary : bool, default=False
        Whether to tell type 2, the most frequent one, from all others.

    References
    ----------
    J. Blackard and D. Dean, "Comparative accuracies of artificial neural networks and
    discriminant analysis in predicting forest cover types from cartographic
    variables", Computers and Electronics in Agriculture 24, 1999.

    Examples
    --------
    >>> from skconftree.datasets import fetch_covertype
    >>> X, y = fetch_covertype(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (581012, 54)
    """
    table = load(COVERTYPE, folder, data_home, n_retries, delay)
    if binary:
        if "2" not in table.classes:
            raise ValueError(
                "binary=True needs a type '2'. The table from "
                f"{table.source} has {table.classes}."
            )
        second = table.labels == table.classes.index("2")
        table = table._replace(labels=second.astype(np.intp), classes=["other", "2"])
    return to_bunch(
        table, fetch_covertype.__doc__, as_frame=as_frame, return_X_y=return_X_y
    )


@loads(AIRLINES)
def fetch_airlines(
    *,
    folder: str | Path | None = None,
    data_home: str | Path | None = None,
    n_retries: int = 3,
    delay: float = 1.0,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch:
    """Load the airline delays.

    539,383 flights of the United States in order of time: airline, two airports, day of
    the week (nominal, up to 293 values), flight number, departure, length.

    References
    ----------
    E. Ikonomovska, "Airline dataset", after the Data Expo of the American Statistical
    Association, 2009.

    Examples
    --------
    >>> from skconftree.datasets import fetch_airlines
    >>> X, y = fetch_airlines(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (539383, 7)
    """
    table = load(AIRLINES, folder, data_home, n_retries, delay)
    return to_bunch(
        table, fetch_airlines.__doc__, as_frame=as_frame, return_X_y=return_X_y
    )


@loads(A9A)
def fetch_a9a(
    *,
    folder: str | Path | None = None,
    data_home: str | Path | None = None,
    n_retries: int = 3,
    delay: float = 1.0,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch:
    """Load the census incomes in binary features.

    48,842 persons, 123 binary features made from the Adult table; the label tells who
    earns more than 50,000 dollars (24 %).

    References
    ----------
    J. Platt, "Fast training of support vector machines using sequential minimal
    optimization", in Advances in Kernel Methods, 1998.

    Examples
    --------
    >>> from skconftree.datasets import fetch_a9a
    >>> X, y = fetch_a9a(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (48842, 123)
    """
    table = load(A9A, folder, data_home, n_retries, delay)
    return to_bunch(table, fetch_a9a.__doc__, as_frame=as_frame, return_X_y=return_X_y)


@loads(COD_RNA)
def fetch_cod_rna(
    *,
    folder: str | Path | None = None,
    data_home: str | Path | None = None,
    n_retries: int = 3,
    delay: float = 1.0,
    as_frame: bool = False,
    return_X_y: bool = False,
) -> Bunch:
    """Load the RNA sequences, coding or not.

    488,565 pairs of sequences, 8 numeric features; a third of the pairs carries a
    functional RNA.

    References
    ----------
    A. Uzilov, J. Keegan and D. Mathews, "Detection of non-coding RNAs on the basis of
    predicted secondary structure formation free energy change", BMC Bioinformatics 7,
    2006.

    Examples
    --------
    >>> from skconftree.datasets import fetch_cod_rna
    >>> X, y = fetch_cod_rna(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (488565, 8)
    """
    table = load(COD_RNA, folder, data_home, n_retries, delay)
    return to_bunch(
        table, fetch_cod_rna.__doc__, as_frame=as_frame, return_X_y=return_X_y
    )
