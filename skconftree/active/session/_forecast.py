"""What more labels would probably bring."""

import numpy as np

from ...bounds import confidence_sequence
from .._rows import in_chunks, take
from ..pool._simulate import simulate
from ..pool._stopping import share_of
from ..pool._view import LearnerView

FEWEST = 20  # answers that a learning curve is made of
RUNS = 10


def forecast_text(learner, rules, n):
    """A sentence on the next `n` labels."""
    wrong, judged = learner.audit_
    audits = [one for one in rules if share_of(one) > 0.0 and hasattr(one, "limit")]
    if judged and audits:
        return _limit_text(audits[0], wrong, judged, n)
    return _curve_text(learner, n)


def _limit_text(rule, wrong, judged, n):
    # As many wrong predictions as so far, in the same share.
    more = max(1, round(n * share_of(rule)))
    later = np.array([wrong, judged - wrong]) * (judged + more) / judged
    limits = [
        confidence_sequence(counts, rule.delta)[0, 1]
        for counts in ([wrong, judged - wrong], later)
    ]
    now, then = (f"{100 * one:.0f} %" for one in limits)
    return (
        f"At most {now} of the predictions are wrong, by an audit of {judged}; if the "
        f"next {n} labels go on like this, at most {then}."
    )


def _curve_text(learner, n):
    view = LearnerView(learner)
    labeled = np.sort(view.labeled)
    codes = view.codes[labeled]
    counts = np.bincount(codes, minlength=1)
    if len(labeled) < FEWEST or (counts > 1).sum() < 2:
        return (
            f"It takes {FEWEST} labels, of two classes at least, to say what more of "
            "them would bring."
        )
    X, y = take(view.X, labeled), learner.classes_[codes]
    step = len(labeled) // 4
    result = simulate(
        learner.estimator,
        X,
        y,
        cv=RUNS,
        batch_size=step,
        budget=2 * step,
        scoring="accuracy",
        random_state=view.seed,
    )
    changed = _changed(learner, n)
    few, more = 1.0 - result.scores[result.strategies.index("random")].mean(axis=0)
    now, then = _power_law(few, more, 2 * step, (len(labeled), len(labeled) + n))
    return (
        f"The last {n} labels changed {100 * changed:.1f} % of the predictions. Of "
        f"rows as hard as those that you were asked about, {100 * now:.0f} % are "
        f"predicted wrongly with {len(labeled)} labels, and {100 * then:.0f} % with "
        f"{n} more, says a learning curve on your answers."
    )


def _changed(learner, n):
    # Share of the pool that was predicted otherwise before the last labels.
    view = LearnerView(learner)
    before = view.before(n)
    if not hasattr(before, "estimator_"):
        return 1.0
    rows = np.arange(view.n_rows)
    now, then = (in_chunks(view.X, rows, one.predict) for one in (learner, before))
    return (now != then).mean()


def _power_law(few, more, n, sizes):
    # Shares of wrong predictions, from those with n / 2 and n labels.
    if more <= 0.0:
        return [0.0 for _ in sizes]
    slope = min(max(np.log2(few / more), 0.0), 1.0)
    return [more * (size / n) ** -slope for size in sizes]
