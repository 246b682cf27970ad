"""Pairs of records: what they are made of, and their similarities."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skconftree.datasets import make_record_pairs
from skconftree.datasets._record_texts import edit_similarity, mistype


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        new = [i]
        for j, right in enumerate(b, 1):
            new.append(min(new[-1] + 1, row[j] + 1, row[j - 1] + (left != right)))
        row = new
    return row[-1]


def as_codes(texts, width):
    packed = np.array(texts, dtype=f"S{width}")
    return packed.view(np.uint8).reshape(len(texts), width)


def test_edit_distance_is_levenshteins():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("abc"), rng.integers(1, 9))) for _ in range(2000)]
    left, right = texts[:1000], texts[1000:]
    found = edit_similarity(as_codes(left, 8), as_codes(right, 8))
    expected = [
        1 - distance(a, b) / max(len(a), len(b))
        for a, b in zip(left, right, strict=True)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("fixed", [False, True])
def test_a_typing_error_is_one_error(fixed):
    rng = np.random.RandomState(0)
    word = b"12345" if fixed else b"hello"
    texts = np.tile(as_codes([word], 7), (3000, 1))
    chosen = np.arange(3000) % 2 == 0
    mistype(rng, texts, chosen, fixed)
    found = texts.view("S7")[:, 0]
    assert (found[~chosen] == word).all()
    lengths = np.char.str_len(found[chosen])
    assert set(lengths) == ({5} if fixed else {4, 5, 6})
    kinds = set()
    for text in set(found[chosen].tolist()):
        swapped = sorted(text) == sorted(word)
        assert distance(text, word) == (2 if swapped and text != word else 1) or (
            text == word  # two equal letters that changed places
        )
        assert text.isdigit() if fixed else text.isalpha()
        kinds.add((len(text), swapped))
    assert len(kinds) >= (2 if fixed else 4)


def test_shapes_labels_and_seeds():
    X, y, records, pairs = make_record_pairs(
        500, 5000, imbalance=49, return_records=True, random_state=3
    )
    assert X.shape == (5000, 10)
    assert X.dtype == np.float32
    assert y.dtype == np.intp
    assert y.sum() == 100
    assert ((X >= 0) & (X <= 1)).all()
    assert len(records) == 600
    assert pairs.shape == (5000, 2)
    again = make_record_pairs(500, 5000, imbalance=49, random_state=3)
    assert_array_equal(again[0], X)
    assert_array_equal(again[1], y)
    assert (make_record_pairs(500, 5000, imbalance=49, random_state=4)[0] != X).any()


def test_pairs_are_different_and_of_different_records():
    for sizes in ((60, 1000), (400, 1000), (50, 1225)):
        _, y, records, pairs = make_record_pairs(
            *sizes, imbalance=20, return_records=True, random_state=0
        )
        both = np.sort(pairs, axis=1)
        assert (both[:, 0] < both[:, 1]).all()
        assert len(np.unique(both, axis=0)) == sizes[1]
        assert pairs.max() < len(records)
        # a match is a person and a copy
        assert (pairs[y == 1, 0] < sizes[0]).all()
        assert (pairs[y == 1, 1] >= sizes[0]).all()


def test_similarities_are_those_of_the_records():
    X, _, records, pairs = make_record_pairs(
        200, 2000, imbalance=10, typos=0.6, return_records=True, random_state=1
    )
    for row, (i, j) in zip(X[:400], pairs[:400], strict=True):
        a, b = records[i], records[j]

        def edits(name, a=a, b=b):
            return 1 - distance(a[name], b[name]) / max(len(a[name]), len(b[name]))

        def equal(name, a=a, b=b):
            return np.mean([x == y for x, y in zip(a[name], b[name], strict=True)])

        dates = a["birth_date"], b["birth_date"]
        turned = dates[0][6:] + dates[0][4:6]
        expected = [
            edits("first_name"),
            a["first_name"][0] == b["first_name"][0],
            edits("last_name"),
            edits("street"),
            equal("number"),
            edits("town"),
            equal("postcode"),
            equal("birth_date"),
            1 / (1 + abs(int(dates[0][:4]) - int(dates[1][:4]))),
            dates[1][4:] in (dates[0][4:], turned),
        ]
        np.testing.assert_allclose(row, expected, atol=1e-6)


def test_copies_without_errors_are_equal():
    X, y = make_record_pairs(300, 3000, imbalance=29, typos=0.0, random_state=0)
    assert (X[y == 1] == 1.0).all()
    assert not (X[y == 0] == 1.0).all(axis=1).any()


def test_more_typos_make_matches_less_alike():
    means = []
    for typos in (0.0, 0.2, 0.5, 1.0):
        X, y = make_record_pairs(500, 5000, imbalance=9, typos=typos, random_state=0)
        means.append(X[y == 1].mean())
    assert means[0] == 1.0
    assert (np.diff(means) < -0.03).all()


def test_pairs_lie_within_blocks():
    """Pairs of different people live near each other, and are few of all there are."""
    *_, records, pairs = make_record_pairs(
        2000, 20_000, return_records=True, random_state=0
    )
    people = pairs[(pairs < 2000).all(axis=1)]
    assert (people // 21 == people[:, :1] // 21).all()
    towns = records["town"][people]
    assert 0.3 < (towns[:, 0] == towns[:, 1]).mean() < 0.9


def test_memory_is_that_of_the_pairs():
    tracemalloc.start()
    X, _ = make_record_pairs(50_000, 100_000, imbalance=1000, random_state=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert X.nbytes == 4_000_000
    assert peak < 60_000_000  # all records x records are 2.5e9 pairs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_entities": 1}, "n_entities == 1, must be >= 2"),
        ({"n_pairs": 1}, "n_pairs == 1, must be >= 2"),
        ({"n_entities": 20, "n_pairs": 500}, "n_entities must be enough for 495 pairs"),
        ({"imbalance": -1.0}, "imbalance == -1.0, must be >= 0"),
        ({"imbalance": np.nan}, "imbalance"),
        ({"imbalance": np.inf}, "imbalance must be finite"),
        ({"typos": 1.5}, "typos == 1.5, must be <= 1"),
        ({"typos": np.nan}, r"typos must be in \[0, 1\]"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_record_pairs(**arguments)


def test_extreme_numbers_of_matches():
    _, y = make_record_pairs(30, 100, imbalance=1e9, random_state=0)
    assert y.sum() == 1
    _, y = make_record_pairs(30, 100, imbalance=0.0, random_state=0)
    assert y.sum() == 100
