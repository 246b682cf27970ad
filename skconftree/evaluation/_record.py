"""What a prequential run reports."""

from __future__ import annotations

from dataclasses import dataclass

from ._tally import cohen_kappa


@dataclass(frozen=True, slots=True)
class PrequentialRecord:
    """How an estimator does on a stream, up to one row of it.

    Figures called ``window_...`` are those of the rows since the record before this
    one, all others those of the whole stream. Where weights are given, every row counts
    with its weight. A figure that is not defined is NaN: any of a stream without a
    tested row, kappa where chance alone is always right, F1 where no class was named.

    Parameters
    ----------
    n_rows : int
        Rows learnt.
    n_tested : int
        Rows that were predicted before they were learnt.
    accuracy, window_accuracy : float
        Share of the tested rows whose prediction was right.
    balanced_accuracy, window_balanced_accuracy : float
        Mean of the shares of each class that were right, over the classes that came.
    geometric_mean, window_geometric_mean : float
        Geometric mean of these shares: 0 if a class is never found.
    kappa, window_kappa : float
        Cohen's kappa: what is gained over chance with the same shares of classes.
    f1, window_f1 : float
        F1 of the class `pos_label`; 0 where it is neither predicted nor present.
    no_change_accuracy, window_no_change_accuracy : float
        Accuracy of predicting for each row the label that came last: without a delay
        that of the row before it.
    majority_accuracy, window_majority_accuracy : float
        Accuracy of predicting the class that was most frequent among the labels before.
    n_leaves : int or None
        Leaves of the model, if it has `get_n_leaves`.
    n_bytes : int or None
        Bytes that the model holds, if it has `n_bytes_`.
    cpu_seconds : float
        CPU time that the estimator has used, predictions included.
    n_waiting : int
        Rows that were predicted and whose labels have not come yet.
    window_scores : dict of str to float
        What `scoring` asks for, of the rows since the record before this one.

    See Also
    --------
    iter_prequential : Yields records along a stream.

    References
    ----------
    Bifet, Read, Zliobaite, Pfahringer and Holmes, "Pitfalls in benchmarking data stream
    classification and how to avoid them", 2013 (the two baselines, `kappa_temporal`).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import Perceptron
    >>> from skconftree.evaluation import iter_prequential
    >>> X, y = load_iris(return_X_y=True)
    >>> *_, last = iter_prequential(Perceptron(), X, y, chunk_size=10)
    >>> last.n_rows, last.n_tested, round(last.accuracy, 3), last.n_leaves
    (150, 140, 0.857, None)

    Iris is sorted by class. Whoever repeats the label before does better:

    >>> round(last.no_change_accuracy, 3), round(last.kappa_temporal, 1)
    (0.986, -9.0)
    """

    n_rows: int
    n_tested: int
    accuracy: float
    window_accuracy: float
    balanced_accuracy: float
    window_balanced_accuracy: float
    geometric_mean: float
    window_geometric_mean: float
    kappa: float
    window_kappa: float
    f1: float
    window_f1: float
    no_change_accuracy: float
    window_no_change_accuracy: float
    majority_accuracy: float
    window_majority_accuracy: float
    n_leaves: int | None
    n_bytes: int | None
    cpu_seconds: float
    n_waiting: int
    window_scores: dict

    @property
    def kappa_temporal(self) -> float:
        """Accuracy gained over `no_change_accuracy`, as a share of what could be."""
        return cohen_kappa(self.accuracy, self.no_change_accuracy)

    @property
    def window_kappa_temporal(self) -> float:
        """The same since the record before this one."""
        return cohen_kappa(self.window_accuracy, self.window_no_change_accuracy)

    @property
    def kappa_majority(self) -> float:
        """Accuracy gained over `majority_accuracy`, as a share of what could be."""
        return cohen_kappa(self.accuracy, self.majority_accuracy)
