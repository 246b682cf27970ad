"""An audit says of each split what new rows say, and no more.

Why: a split that is called real has to be one, at the level that was asked for, however
many splits a tree has; and rows that are too few must not count against a split.
"""

import pickle
import re
from collections import Counter
from html import escape

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.effort import examples
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skconftree import (
    ConfidenceForestClassifier,
    ConfidenceTreeClassifier,
    NCMTreeClassifier,
)
from skconftree.bounds import log_evalue
from skconftree.inspection import ConfidenceTreeDisplay, SplitAudit, audit_splits
from skconftree.inspection._audit import STATE_NAMES
from skconftree.tree import export_html, export_text


def stump(classes=("no", "yes")):
    """A tree that asks whether its only column is above .5."""
    return DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], list(classes))


def rows_of(table, classes=("no", "yes")):
    """Rows that fall into the stump's branches as a table says."""
    X, y = [], []
    for value, counts in enumerate(table):
        for label, n in zip(classes, counts, strict=True):
            X += [[float(value)]] * n
            y += [label] * n
    return X, y


@pytest.fixture(scope="module")
def halves():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return train_test_split(X, y, test_size=0.5, random_state=0)


def verdicts(audit):
    return {one.node: one.verdict for one in audit.splits_}


# -- one split ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "p", "least", "verdict"),
    [
        # the lady who tastes tea: 1 + 16 + 36 + 16 + 1 = 70 tables of eight cups
        ([[4, 0], [0, 4]], 2 / 70, 2 / 70, "confirmed"),
        ([[3, 1], [1, 3]], 34 / 70, 2 / 70, "not confirmed"),
        ([[2, 2], [2, 2]], 1.0, 2 / 70, "not confirmed"),
        # with six cups nobody could convince anybody
        ([[3, 0], [0, 3]], 2 / 20, 2 / 20, "too few rows"),
        # one row of the other class: it is in one of twelve places
        ([[1, 0], [0, 11]], 1 / 12, 1 / 12, "too few rows"),
        ([[5, 0], [7, 0]], 1.0, 1.0, "too few rows"),
        ([[0, 0], [7, 5]], 1.0, 1.0, "too few rows"),
    ],
)
def test_one_split_by_hand(table, p, least, verdict):
    audit = audit_splits(stump(), *rows_of(table))
    (found,) = audit.splits_
    assert found.counts == tuple(map(tuple, table))
    assert found.n_rows == audit.n_rows_ == np.sum(table)
    assert found.p_value == pytest.approx(p)
    assert found.least_p == pytest.approx(least)
    assert found.verdict == verdict
    assert (found.node, found.depth, found.test) == (0, 0, "x0 <= 0.5")
    share = {"confirmed": 1.0, "not confirmed": 0.0, "too few rows": np.nan}[verdict]
    np.testing.assert_equal(audit.share_confirmed_, share)


@given(
    table=st.lists(st.lists(st.integers(0, 30), min_size=2, max_size=2), min_size=2),
    alpha=st.sampled_from([0.2, 0.05, 1e-4]),
)
@settings(max_examples=examples(60))
def test_an_evalue_is_the_bet_of_the_bound(table, alpha):
    table = table[:2]
    if not np.sum(table):
        return
    audit = audit_splits(stump(), *rows_of(table), anytime=True, alpha=alpha)
    (found,) = audit.splits_
    assert found.log_e == pytest.approx(log_evalue(table))
    assert found.p_value == pytest.approx(min(1.0, np.exp(-found.log_e)))
    assert (found.verdict == "confirmed") == (found.log_e >= -np.log(alpha))
    # what no table can reach is not called unconfirmed
    if found.verdict == "confirmed":
        assert found.least_p <= found.p_value * (1 + 1e-9)


def test_weights_are_frequencies():
    X, y = rows_of([[4, 1], [1, 4]])
    once = audit_splits(stump(), X + X, y + y)
    weighted = audit_splits(stump(), X, y, sample_weight=[2] * 10)
    assert once.splits_ == weighted.splits_
    absent = audit_splits(
        stump(), [*X, [0.0]], [*y, "yes"], sample_weight=[1] * 10 + [0]
    )
    assert absent.splits_ == audit_splits(stump(), X, y).splits_


# -- trees --------------------------------------------------------------------------


def test_the_tables_are_those_of_the_rows(halves):
    X, X_new, y, y_new = halves
    tree = ConfidenceTreeClassifier(bound=None, max_leaf_nodes=9).fit(X, y)
    audit = audit_splits(tree, X_new, y_new)
    path = tree.decision_path(X_new).toarray().astype(bool)
    for one in audit.splits_:
        expected = [
            [int((path[:, child] & (y_new == label)).sum()) for label in tree.classes_]
            for child in tree.tree_.children(one.node)
        ]
        assert one.counts == tuple(map(tuple, expected))
    assert len(audit.splits_) == 8
    np.testing.assert_array_equal(audit.counts_.sum(axis=1), path.sum(axis=0))


@pytest.mark.parametrize("correction", ["holm", "top-down", None])
def test_an_exported_tree_has_the_same_audit(halves, correction):
    X, X_new, y, y_new = halves
    tree = ConfidenceTreeClassifier(bound=None, pruning=None).fit(X, y)
    ours = audit_splits(tree, X_new, y_new, correction=correction)
    theirs = audit_splits(tree.to_sklearn(), X_new, y_new, correction=correction)
    for one, other in zip(ours.splits_, theirs.splits_, strict=True):
        assert one._replace(test=None) == other._replace(test=None)
    assert set(verdicts(ours).values()) == {
        "confirmed",
        "not confirmed",
        "too few rows",
    }


def test_a_pipeline_transforms_first(halves):
    X, X_new, y, y_new = halves
    pipe = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    pipe.fit(X, y)
    audit = audit_splits(pipe, X_new, y_new)
    scaled = pipe[0].transform(X_new)
    alone = audit_splits(pipe[-1], scaled, y_new)
    assert audit.splits_[0].test.startswith("worst ")  # a step has the names, not it
    nameless = [one._replace(test="") for one in alone.splits_]
    assert [one._replace(test="") for one in audit.splits_] == nameless
    one_step = make_pipeline(pipe[-1])
    assert audit_splits(one_step, scaled, y_new).splits_ == alone.splits_


def test_encoded_categories_and_an_exported_pipeline():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"color": rng.choice(list("rgb"), 400), "size": rng.random(400)})
    y = (X["color"] == "r") ^ (rng.random(400) < 0.2)
    encoder = make_column_transformer(
        (OneHotEncoder(), ["color"]), remainder="passthrough"
    )
    cart = make_pipeline(encoder, DecisionTreeClassifier(max_depth=2)).fit(
        X[:200], y[:200]
    )
    audit = audit_splits(cart, X[200:], y[200:])
    assert audit.splits_[0].verdict == "confirmed"
    ours = ConfidenceTreeClassifier().fit(X[:200], y[:200])
    mine = audit_splits(ours, X[200:], y[200:])
    theirs = audit_splits(ours.to_sklearn(), X[200:], y[200:])
    # which has a node more, for categories that it does not know: no row goes there
    (split,) = mine.splits_
    empty, copy = theirs.splits_
    assert empty.verdict == "too few rows"
    assert (copy.verdict, copy.p_value) == ("confirmed", split.p_value)


def test_a_split_may_have_many_branches():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"color": rng.choice(list("rgby"), 600)})
    y = np.where(
        rng.random(600) < 0.8, X["color"].isin(["r", "g"]), rng.random(600) < 0.5
    )
    tree = ConfidenceTreeClassifier(nominal_splits="multiway").fit(X[:300], y[:300])
    assert tree.tree_.n_children[0] == 4
    (found,) = audit_splits(tree, X[300:], y[300:]).splits_
    assert np.shape(found.counts) == (4, 2)
    assert found.verdict == "confirmed"
    assert found.p_value < 1e-10


def test_tests_by_class_means_are_audited():
    X, y = load_iris(return_X_y=True)
    tree = NCMTreeClassifier(random_state=0).fit(X[::2], y[::2])
    audit = audit_splits(tree, X[1::2], y[1::2])
    assert audit.splits_[0].verdict == "confirmed"
    assert audit.splits_[0].test is None
    assert "node 0: confirmed" in str(audit)


def test_missing_values_go_where_the_tree_sends_them(halves):
    X, X_new, y, y_new = halves
    X, X_new = X.copy(), X_new.copy()
    X.iloc[::3, 20:28] = X_new.iloc[::4, 20:28] = np.nan
    tree = ConfidenceTreeClassifier(lookahead=0).fit(X, y)
    audit = audit_splits(tree, X_new, y_new)
    assert audit.splits_[0].n_rows == len(X_new)
    assert audit.splits_[0].verdict == "confirmed"


def test_a_tree_of_one_leaf_has_nothing_to_audit():
    tree = DecisionTreeClassifier().fit([[0.0], [0.0]], [0, 1])
    audit = audit_splits(tree, [[1.0], [2.0]], [0, 1])
    assert audit.splits_ == []
    assert np.isnan(audit.share_confirmed_)
    assert "no split" in str(audit)
    assert audit.to_frame().empty


def test_rows_counted_by_the_tree(halves):
    X, X_new, y, y_new = halves
    tree = ConfidenceTreeClassifier().fit(X, y)
    assert tree.honest_counts_ is None
    audit = audit_splits(tree.recount_leaves(X_new, y_new))
    assert audit.n_rows_ == len(X_new)
    assert audit.splits_[0].verdict == "confirmed"
    np.testing.assert_array_equal(audit.counts_, tree.honest_counts_)
    assert audit.splits_ == audit_splits(tree, X_new, y_new).splits_


# -- promises -----------------------------------------------------------------------


def noise_tree(rng, n_rows):
    X, y = rng.random((n_rows, 6)), rng.integers(0, 2, n_rows)
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(
        X[:150], y[:150]
    )
    return tree, X[150:], y[150:]


def test_noise_is_rarely_confirmed():
    wrong = np.zeros(3)
    n_trees = examples(200, by_day=40)
    for seed in range(n_trees):
        tree, X, y = noise_tree(np.random.default_rng(seed), 350)
        for place, correction in enumerate(("holm", "top-down", None)):
            audit = audit_splits(tree, X, y, correction=correction)
            wrong[place] += "confirmed" in verdicts(audit).values()
    holm, top_down, each = wrong / n_trees
    most = 0.05 + 2 * np.sqrt(0.05 * 0.95 / n_trees)
    assert holm <= most
    assert top_down <= most
    assert each > most  # so the simulation can tell


@pytest.mark.slow
def test_looking_often_does_not_confirm_noise():
    # The worst habit: after every few rows, until a split is confirmed. P-values that
    # are treated in that way are wrong far more often than the level says.
    by_bets = by_tests = 0
    n_trees = 40
    for seed in range(n_trees):
        tree, X, y = noise_tree(np.random.default_rng(1_000 + seed), 450)
        bets = audit_splits(tree, X[:10], y[:10], anytime=True, alpha=0.1)
        bet_once = tested_once = False
        for start in range(10, 300, 20):
            bets.update(X[start : start + 20], y[start : start + 20])
            tests = audit_splits(tree, X[: start + 20], y[: start + 20], alpha=0.1)
            bet_once |= "confirmed" in verdicts(bets).values()
            tested_once |= "confirmed" in verdicts(tests).values()
        by_bets += bet_once
        by_tests += tested_once
    most = 0.1 + 2 * np.sqrt(0.1 * 0.9 / n_trees)
    assert by_bets / n_trees <= most < by_tests / n_trees


@pytest.mark.parametrize("correction", ["holm", "top-down", None])
def test_updates_in_pieces_are_one_audit(halves, correction):
    X, X_new, y, y_new = halves
    tree = ConfidenceTreeClassifier().fit(X, y)
    options = {"anytime": True, "correction": correction}
    at_once = audit_splits(tree, X_new, y_new, **options)
    pieces = audit_splits(tree, X_new[:1], y_new[:1], **options)
    for start, end in [(1, 40), (40, 41), (41, len(X_new))]:
        assert pieces.update(X_new[start:end], y_new[start:end]) is pieces
    assert pieces.splits_ == at_once.splits_
    assert "confirmed" in verdicts(pieces).values()


def damaged_audits(state):
    """States of an audit whose nodes are not those of a tree."""
    shape = state["_shape"]
    children = shape["children"]
    leaf = children.index([])
    for other in (
        children[:-1],
        [[0, 1], *children[1:]],
        [[len(children), 1], *children[1:]],
        [*children[:leaf], [1, 2], *children[leaf + 1 :]],
    ):
        yield {"_shape": shape | {"children": other}}
    yield {"from_the_future": 1}


def test_a_damaged_state_is_refused(halves):
    X, X_new, y, y_new = halves
    tree = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
    state = audit_splits(tree, X_new, y_new).__getstate__()
    for damage in damaged_audits(state):
        with pytest.raises(ValueError, match="is corrupt|no setting"):
            SplitAudit.__new__(SplitAudit).__setstate__(state | damage)
    for name in STATE_NAMES:
        less = {one: state[one] for one in state if one != name}
        with pytest.raises(ValueError, match=f"is corrupt: it has no '{name}'"):
            SplitAudit.__new__(SplitAudit).__setstate__(less)


def test_tables_that_are_too_many_to_enumerate():
    classes = [str(i) for i in range(9)]
    table = np.array([np.arange(40, 49), np.arange(48, 39, -1)])
    tree = DecisionTreeClassifier(max_depth=1).fit(*rows_of(table, classes))
    assert "; tests chi-squared where there are too many tables" in str(
        audit_splits(tree, *rows_of(table + 1, classes))
    )


def test_pickles(halves):
    X, X_new, y, y_new = halves
    for tree in (ConfidenceTreeClassifier(), DecisionTreeClassifier(random_state=0)):
        tree.fit(X, y)
        audit = audit_splits(tree, X_new[:99], y_new[:99], anytime=True)
        copy = pickle.loads(pickle.dumps(audit))
        assert str(copy) == str(audit)
        assert "; e-values: 1/e is a p-value, valid whenever" in str(audit)
        audit.update(X_new[99:], y_new[99:])
        copy.update(X_new[99:], y_new[99:])
        assert copy.splits_ == audit.splits_


def test_the_tree_is_not_changed(halves):
    X, X_new, y, y_new = halves
    tree = ConfidenceTreeClassifier(random_state=0).fit(X, y)
    before = pickle.dumps(tree)
    audit_splits(tree, X_new, y_new)
    assert pickle.dumps(tree) == before


# -- words --------------------------------------------------------------------------


def test_frame_and_text(halves):
    X, X_new, y, y_new = halves
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    audit = audit_splits(tree, X_new, y_new)
    frame = audit.to_frame()
    assert list(frame.index) == [one.node for one in audit.splits_]
    assert list(frame.verdict) == [one.verdict for one in audit.splits_]
    text = str(audit)
    assert "false" not in text.replace("not make the split false", "")
    assert max(map(len, text.splitlines())) <= 100
    found = frame.verdict.value_counts()
    assert f"{found['confirmed']} confirmed" in text.splitlines()[0]
    assert f"{found['too few rows']} too few rows" in repr(audit)
    assert text.count("confirmed (p = ") == found["confirmed"] + found["not confirmed"]


def test_a_large_tree_is_not_written_in_full():
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 3)), rng.integers(0, 2, 600)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300])
    audit = audit_splits(tree, X[300:], y[300:])
    assert f"and {len(audit.splits_) - 40:,} more splits" in str(audit)


def test_below_an_unconfirmed_split_top_down_says_so():
    # an exclusive or: the root says nothing, the splits below it everything
    X = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 50, float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:-3], y[:-3])
    one = audit_splits(tree, X, y, correction="top-down")
    root, *others = one.splits_
    assert root.verdict == "not confirmed"
    assert {split.verdict for split in others} == {"not confirmed"}
    assert {split.level for split in others} == {0.0}
    assert "a split above is not confirmed)" in str(one)
    by_holm = audit_splits(tree, X, y).splits_
    assert {split.verdict for split in by_holm[1:]} == {"confirmed"}


# -- marks --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def audited(halves):
    X, X_new, y, y_new = halves
    tree = ConfidenceTreeClassifier(None, pruning=None, max_leaf_nodes=8).fit(X, y)
    return tree, audit_splits(tree, X_new, y_new)


def test_text_and_page_mark_every_split(audited):
    tree, audit = audited
    text = export_text(tree, audit=audit, fold_weak=False)
    page = export_html(tree, audit=audit)
    for verdict, n in Counter(verdicts(audit).values()).items():
        assert len(re.findall(rf"^\|.*  {verdict} \(", text, re.M)) == n > 0
        assert page.count(f'<span class="sure">{verdict}</span>') == n
    for line in audit.legend:
        assert line in text
        assert escape(line) in page
    assert max(map(len, text.splitlines())) <= 100
    text = export_text(tree, audit=audit, fold_weak=False, max_width=140)
    titles = text.splitlines()[2]
    assert titles.split() == ["evidence", "by", "chance", "audit"]
    kept = [line[: titles.index("audit")].rstrip() for line in text.splitlines()[2:]]
    plain = export_text(tree, fold_weak=False, max_width=140).splitlines()[2:]
    n_lines = plain.index("")
    assert kept[:n_lines] == plain[:n_lines]


def test_the_path_of_a_row_is_marked(audited, halves):
    tree, audit = audited
    row = halves[1].iloc[[0]]
    text = tree.explain_text(row, audit=audit)
    passed = [step["node"] for step in tree.explain(row)[0]]
    said = [line for line in text.splitlines() if line.startswith("     audit: ")]
    assert [line.split(": ")[1].split(" (")[0] for line in said] == [
        verdicts(audit)[node] for node in passed
    ]
    assert text.splitlines()[-1] == audit.legend[-1]


def test_the_picture_has_the_verdicts(audited):
    tree, audit = audited
    display = ConfidenceTreeDisplay.from_estimator(
        tree, audit=audit, max_depth=None, fold_weak=False
    )
    texts = Counter(text.get_text() for text in display.ax_.texts)
    for verdict, n in Counter(verdicts(audit).values()).items():
        assert texts[verdict] == n
    assert audit.legend[1] in display.ax_.get_legend().get_title().get_text()
    plt.close(display.figure_)


def test_an_audit_of_another_tree_marks_nothing(audited, halves):
    tree, audit = audited
    other = clone(tree).set_params(max_leaf_nodes=4).fit(*halves[::2])
    copy = pickle.loads(pickle.dumps(tree))
    assert export_text(copy, audit=audit) == export_text(tree, audit=audit)
    for show in (
        export_text,
        export_html,
        ConfidenceTreeDisplay.from_estimator,
        lambda tree, audit: tree.explain_text(halves[1][:1], audit=audit),
    ):
        with pytest.raises(ValueError, match="audit must be an audit of this tree"):
            show(other, audit=audit)
    with pytest.raises(TypeError, match="audit must be a result of .*audit_splits"):
        export_text(tree, audit="audit")


# -- bad input ----------------------------------------------------------------------


def test_training_rows_are_recognized(halves):
    X, X_new, y, y_new = halves
    for tree in (ConfidenceTreeClassifier(), DecisionTreeClassifier(random_state=0)):
        tree.fit(X, y)
        with pytest.warns(UserWarning, match="seem to be its training rows"):
            audit_splits(tree, X, y)
        audit_splits(tree, X_new, y_new)  # warnings are errors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_new": ["maybe", "no"]}, "does not know: 'maybe'.*'no', 'yes'"),
        ({"y_new": [np.nan, float("nan")]}, "does not know: nan. Its classes"),
        ({"y_new": ["no"]}, "inconsistent numbers of samples"),
        ({"y_new": [["no", "no"]] * 2}, "one label per row"),
        ({"X_new": [[0.0, 1.0]] * 2}, "2 features, but .* 1 features"),
        ({"X_new": np.empty((0, 1)), "y_new": []}, "0 sample"),
        ({"X_new": None}, "Pass both X_new and y_new"),
        ({"y_new": None}, "Pass both X_new and y_new"),
        ({"sample_weight": [0.5, 1.0]}, "integers of.* Got 0.5"),
        ({"sample_weight": [-1, 1]}, "integers of.* Got -1"),
        ({"sample_weight": [np.nan, 1]}, "integers of.* Got nan"),
        ({"sample_weight": [1]}, r"shape \(2,\)"),
        ({"sample_weight": ["a", "b"]}, "array of numbers"),
        ({"sample_weight": [0, 0]}, "a sum above 0"),
        ({"alpha": 0.0}, r"alpha must be a number in \(0, 1\). Got 0.0"),
        ({"alpha": "small"}, "alpha must be"),
        ({"correction": "bonferroni"}, "'holm', 'top-down' or None. Got 'bonferroni'"),
        ({"correction": ["holm"]}, "correction must be"),
    ],
)
@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ConfidenceTreeClassifier])
def test_bad_input(kind, change, message):
    tree = kind(max_depth=1).fit([[0.0], [1.0]], ["no", "yes"])
    given = {"X_new": [[0.0], [1.0]], "y_new": ["no", "no"]} | change
    with pytest.raises(ValueError, match=message):
        audit_splits(tree, given.pop("X_new"), given.pop("y_new"), **given)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (LogisticRegression, TypeError, "tree classifier .* Got LogisticRegression"),
        (DecisionTreeRegressor, TypeError, "tree classifier"),
        (RandomForestClassifier, TypeError, "by its estimators_"),
        (ConfidenceForestClassifier, TypeError, "tree"),
    ],
)
def test_other_estimators(make, error, message):
    model = make().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(error, match=message):
        audit_splits(model, [[0.0], [1.0]], [0, 0])


def test_unfitted_several_outputs_and_no_stored_rows():
    with pytest.raises(NotFittedError):
        audit_splits(DecisionTreeClassifier(), [[0.0]], [0])
    with pytest.raises(TypeError, match="tree classifier"):
        audit_splits(DecisionTreeClassifier, [[0.0]], [0])
    two = DecisionTreeClassifier().fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="one output. Got a tree with 2"):
        audit_splits(two, [[0.0]], [0])
    for tree in (stump(), ConfidenceTreeClassifier().fit([[0.0], [1.0]], [0, 1])):
        with pytest.raises(ValueError, match="Pass new rows, or call recount_leaves"):
            audit_splits(tree)
    kept = ConfidenceTreeClassifier().fit([[0.0], [1.0]] * 9, [0, 1] * 9)
    kept.recount_leaves([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="sample_weight needs X_new"):
        audit_splits(kept, sample_weight=[1])
    kept.recount_leaves([[0.0]], [0], sample_weight=[0.5])
    with pytest.raises(ValueError, match="fractional weights"):
        audit_splits(kept)


def test_unknown_categories_are_named():
    X = pd.DataFrame({"color": list("rgb") * 60, "size": np.arange(180.0)})
    y = X["color"] == "r"
    tree = ConfidenceTreeClassifier(nominal_splits="multiway").fit(X, y)
    new = X[::2].copy()
    new.iloc[:2, 0] = ["violet", "grey"]
    with pytest.raises(ValueError, match="Column 'color' .* 'violet', 'grey'"):
        audit_splits(tree, new, y[::2])
    new.iloc[:2, 0] = [None, None]  # goes nowhere, and is no category
    audit = audit_splits(tree, new, y[::2])
    assert audit.splits_[0].n_rows == len(new) - 2


def test_only_an_audit_with_e_values_takes_more_rows(halves):
    X, X_new, y, y_new = halves
    tree = ConfidenceTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="anytime=True to audit_splits to add rows"):
        audit_splits(tree, X_new, y_new).update(X_new, y_new)
    audit = audit_splits(tree, X_new[:50], y_new[:50], anytime=True)
    before = audit.splits_
    with pytest.raises(ValueError, match="does not know"):
        audit.update(X_new, y_new + 5)
    assert audit.splits_ == before
    tree.set_params(max_depth=1).fit(X_new, y_new)
    with pytest.raises(ValueError, match="has changed since"):
        audit.update(X_new[50:], y_new[50:])
