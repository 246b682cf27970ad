"""How good is a model of few labels? Error estimates and limits of active learning.

- Limits of `RiskBelow(method="audit")`: simulated audits of classifiers whose error
  rate falls. A session is wrong if the limit is below the present error rate at any of
  100 looks. Beside it the median audited rows until the limit is below twice the last
  error rate, also for one window that forgets nothing.
- `ActiveLearner.estimate_error`: sessions of 100 labels, a share of which is drawn at
  random from half of the rows. Mean error rate of the final classifier on the other
  half, mean estimate with its standard error over the sessions, the share of sessions
  whose limits contain the error rate, and the mean width of the limits. Beside it the
  error rate on the other half of the classifiers that are refitted without a fold, and
  two simpler estimates: the cross-validated error rate of all labels, and that of the
  audit, which is of earlier classifiers. The strategy is margin sampling, except in one
  row, in which all rows are drawn at random.

    python benchmarks error_estimates
"""

import numpy as np
from common import options as command
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skconftree.active import ActiveLearner, ArrayOracle
from skconftree.active.pool._estimate import cross_validated_errors, labeled_in_order
from skconftree.active.pool._stopping import audit_limit
from skconftree.bounds import confidence_sequence

N_AUDITED, EVERY = 300, 3
STEPS = np.arange(N_AUDITED)
RISKS = {  # error rate of the classifier at each audited row
    "0.16": np.full(N_AUDITED, 0.16),
    "0.5 to 0.15, soon": 0.15 + 0.35 * np.exp(-STEPS / 20),
    "0.64 to 0.15, slowly": 0.15 + 0.49 * np.exp(-STEPS / 60),
    "0.3, then 0.05": np.where(STEPS < 60, 0.3, 0.05),
}
N_LABELS, BATCH = 100, 5


def flipped():
    """Two classes, 5% of whose labels are flipped."""
    return make_classification(4000, 20, flip_y=0.1, random_state=0)


POOLS = {
    "two classes, 5% of them flipped": (flipped, GaussianNB()),
    "the same, all rows random": (flipped, GaussianNB(), "random"),
    "breast cancer": (
        lambda: load_breast_cancer(return_X_y=True),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ),
    "digits": (lambda: load_digits(return_X_y=True), GaussianNB()),
}


def limits(risk, looks, n_sessions):
    """Limits of sessions at their looks: of windows, and of one window."""
    wrong = np.random.default_rng(0).random((n_sessions, N_AUDITED)) < risk
    audits = np.stack([wrong, np.ones(wrong.shape)], axis=-1)
    total = np.cumsum(wrong, axis=1)[:, looks - 1]
    counts = np.stack([total, looks - total], axis=-1)
    of_windows = [audit_limit(audits[:, :n], 0.05) for n in looks]
    return np.stack(
        [np.transpose(of_windows), confidence_sequence(counts)[..., 0, 1]], axis=1
    )


def with_error(values):
    """Mean, and its standard error in brackets."""
    spread = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.3f} ({spread:.3f})"


def limit_rows(n_sessions):
    """Rows of the table of limits."""
    looks = np.arange(EVERY, N_AUDITED + 1, EVERY)
    for name, risk in RISKS.items():
        found = limits(risk, looks, n_sessions)
        wrong = (found < risk[looks - 1]).any(axis=2)  # session, kind
        below = found <= 2.0 * risk[-1]
        until = np.where(below.any(axis=2), looks[below.argmax(axis=2)], np.inf)
        medians = np.median(until, axis=0)
        cells = [f"{n:.0f}" if n < np.inf else "-" for n in medians]
        shares = [with_error(column) for column in wrong.T.astype(float)]
        last = [f"{share:.2f}" for share in np.median(found[:, :, -1], axis=0)]
        rates = [
            cell for group in zip(shares, cells, last, strict=True) for cell in group
        ]
        yield [name, *rates]


def session(share, seed, make, estimator, strategy="margin"):
    """Error rate, estimate, limits, and simpler estimates of one session."""
    X, test, y, y_test = train_test_split(*make(), test_size=0.5, random_state=seed)
    learner = ActiveLearner(
        estimator, strategy=strategy, batch_size=BATCH, random_state=seed
    )
    learner.fit(X).run(ArrayOracle(y), budget=N_LABELS, random_share=share)
    estimate = learner.estimate_error()
    rows, _ = labeled_in_order(learner)
    wrong, n = learner.audit_
    truth = (learner.predict(test) != y_test).mean()
    of_labels = cross_validated_errors(learner, rows).mean()
    refitted = [
        (learner._without_rows(fold).predict(test) != y_test).mean()
        for fold in np.array_split(np.random.default_rng(seed).permutation(rows), 10)
    ]
    return [truth, *estimate[:3], np.mean(refitted), of_labels, wrong / max(n, 1)]


def estimate_rows(n_sessions, shares):
    """Rows of the table of estimates."""
    for name, pool in POOLS.items():
        for share in shares:
            found = np.array(
                [session(share, seed, *pool) for seed in range(n_sessions)]
            )
            truth, estimate, low, high, *others = found.T
            inside = ((low <= truth) & (truth <= high)).astype(float)
            width = f"{np.mean(high - low):.2f}"
            means = map(with_error, (truth, estimate, inside))
            yield [name, share, *means, width, *map(with_error, others)]


def main(argv=None):
    """Run the study and show its tables."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--part", choices=("limits", "estimates", "all"), default="all")
    options = parser.parse_args(argv)
    n_limits, n_sessions = (3, 2) if options.quick else (500, 30)
    note = f"{n_limits} simulated and {n_sessions} real sessions a row"
    tables = command.tables("error_estimates", options, note)
    if options.part != "estimates":
        kinds = ["windows", "one window"]
        header = ["error rate"]
        for kind in kinds:
            header += [f"{kind}: wrong", "rows until twice", "last limit"]
        tables.show("audit-limits", header, list(limit_rows(n_limits)))
    if options.part != "limits":
        header = ["pool", "random share", "error rate", "estimate", "inside", "width"]
        header += ["refitted", "of all labels", "of the audit"]
        rows = list(estimate_rows(n_sessions, (0.3,)))
        tables.show("error-estimates", header, rows)
