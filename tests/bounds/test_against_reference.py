"""Every kernel equals its slow reference, for any node.

Trees on small tables never visit most of these nodes: deep, huge, fractional,
with a long stream or many attributes behind them.
"""

import math

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from reference.cases import CASES, PAIRS, settings_of
from reference.criteria import phi, total
from reference.effort import examples
from reference.registries import STREAM_BOUNDS


def test_every_bound_has_a_reference():
    assert set(STREAM_BOUNDS) <= {name for name, _, _ in CASES.values()}


counts = st.one_of(
    st.integers(0, 9),
    st.integers(0, 9_999),
    st.floats(0.0, 50.0).map(lambda x: round(x, 3)),
)


@st.composite
def nodes(draw, outcomes):
    K = draw(st.sampled_from([2, 3, 5]), label="classes")
    r = draw(outcomes, label="outcomes")
    children = draw(
        st.lists(st.lists(counts, min_size=K, max_size=K), min_size=r, max_size=r),
        label="children",
    )
    # A tree asks about nodes of at least one row each and two classes.
    assume(all(sum(c) >= 1 for c in children))
    assume(sum(sum(column) > 0 for column in zip(*children, strict=True)) > 1)
    n = float(sum(map(sum, children)))
    unlabeled = draw(
        st.sampled_from([[0] * r, [0, 7] + [1] * (r - 2), [500, 3] + [0] * (r - 2)]),
        label="unlabeled",
    )
    return {
        "children": [[float(x) for x in c] for c in children],
        "pool": [sum(c) + u for c, u in zip(children, unlabeled, strict=True)],
        "n": n,
        "n_tests": draw(st.integers(1, 10_000), label="tests"),
        "time": n + draw(st.integers(0, 10**6), label="later rows"),
        "depth": draw(st.integers(0, 30), label="depth"),
        "attributes": draw(st.integers(1, 1000), label="attributes"),
        "attribute_tests": draw(st.integers(1, 1000), label="tests of the attribute"),
        "attempt": draw(st.integers(1, 100), label="attempt"),
        "share": draw(st.sampled_from([1.0, 0.5]), label="fresh share"),
        "runner_up": draw(
            st.one_of(st.none(), st.floats(0.0, 1.0), st.just("no split")),
            label="runner_up",
        ),
    }


def decide_by_reference(bound, node, criterion):
    children = node["children"]
    parent = [sum(column) for column in zip(*children, strict=True)]
    node_stats = {
        "n_classes": len(parent),
        "counts": parent,
        "n": node["n"],
        "pool": float(sum(node["pool"])),
        "n_fresh": node["n"] * node["share"],
        "n_tests": node["n_tests"],
        "n_varying": node["attributes"],
        "attribute_tests": node["attribute_tests"],
        "time": node["time"],
        "n_attributes": node["attributes"],
        "attempt": node["attempt"],
        "depth": node["depth"],
    }
    if bound.kind == "interval":
        limit = bound.limit(node_stats)
        cost = sum(
            bound.cost(node_stats, c, sum(c), pool, r=len(children))
            for c, pool in zip(children, node["pool"], strict=True)
        )
        answer = {
            "parent_limit": limit / node_stats[bound.per],
            "child_limit": cost / node_stats[bound.per],
        }
        return cost < limit, answer, abs(cost - limit) / max(limit, 1e-300)
    if bound.kind == "evidence":
        log_evidence = bound.log_evidence(node_stats, children)
        split, statistic = bound.decide(node_stats, log_evidence)
        return split, {"statistic": statistic}, 1.0
    score = total(criterion, children) / node["n"]
    competitor = competitor_of(node, criterion)
    evidence = {
        "score": score,
        "runner_up_score": math.inf if competitor is None else competitor,
        "runner_up_feature": -1 if competitor is None else 1,
    }
    split, answer = bound.decide(node_stats, children, evidence)
    margin = 1.0
    if "radius" in answer:
        gap = answer["runner_up_score"] - score - bound.factor * answer["radius"]
        margin = min(abs(gap), abs(phi(criterion, parent) - score))
    del answer["runner_up_feature"]
    return split, answer, margin


def competitor_of(node, criterion):
    if node["runner_up"] == "no split":
        parent = [sum(column) for column in zip(*node["children"], strict=True)]
        return phi(criterion, parent)
    return node["runner_up"]


SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much]


@pytest.mark.parametrize(("case", "criterion"), PAIRS)
@settings(max_examples=examples(60, by_day=3), suppress_health_check=SLOW)
@given(node=nodes(st.just(2)))
def test_same_answer(case, criterion, node):
    compare_answers(case, criterion, node)


@pytest.mark.parametrize(("case", "criterion"), PAIRS)
@settings(max_examples=examples(25, by_day=2), suppress_health_check=SLOW)
@given(node=nodes(st.integers(3, 6)))
def test_same_answer_about_many_outcomes(case, criterion, node):
    if case.startswith("chi2"):
        # a slow reference for exact tests: test_contingency.py has more of them
        whole = all(float(x).is_integer() for child in node["children"] for x in child)
        assume(node["n"] <= 16 or not whole)
    compare_answers(case, criterion, node)


def compare_answers(case, criterion, node):
    bound, reference = settings_of(case, criterion, len(node["children"][0]))
    split, expected, margin = decide_by_reference(reference, node, criterion)
    answer = bound.evaluate(
        node["children"],
        criterion=criterion,
        pool=node["pool"],
        n_tests=node["n_tests"],
        time=node["time"],
        depth=node["depth"],
        attributes=node["attributes"],
        attribute_tests=node["attribute_tests"],
        attempt=node["attempt"],
        n_fresh=node["n"] * node["share"],
        runner_up=competitor_of(node, criterion),
    )
    if criterion == "ec2":
        del expected["score"]  # only a tree can compute it
    for field, value in expected.items():
        assert getattr(answer, field) == pytest.approx(value, rel=1e-7, abs=1e-10), (
            field
        )
    assume(margin > 1e-9)
    assert answer.split == split
