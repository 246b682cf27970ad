"""What a failed call has done to the attributes of an estimator is undone at once."""

import sys

import pytest

from skconftree.utils import unchanged_on_error


class Model:
    def __init__(self, **attributes):
        vars(self).update(attributes)


class Strange:
    """Cannot be compared."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        raise AssertionError("compared")


def fail(model, change):
    with unchanged_on_error(model):
        change(model)
        raise ValueError("a bad row")


def extend(model):
    model.trees.append(3)


def replace(model):
    model.trees[0] = Strange()


def clear(model):
    model.trees.clear()


def weigh(model):
    model.weights["a"] = 2.0


def rename(model):
    model.weights["b"] = model.weights.pop("a")


def add(model):
    model.names.add("c")


@pytest.mark.parametrize("change", [extend, replace, clear, weigh, rename, add])
def test_what_is_changed_in_place_is_restored(change):
    one = Strange()
    model = Model(trees=[one, 2], weights={"a": one}, names={"a", "b"})
    with pytest.raises(ValueError, match="a bad row"):
        fail(model, change)
    assert list(map(id, model.trees)) == [id(one), id(2)]
    assert list(model.weights) == ["a"]
    assert model.weights["a"] is one
    assert model.names == {"a", "b"}


def test_what_is_not_changed_remains_the_same_object():
    given = {"trees": [Strange()], "weights": {"a": Strange()}, "names": {"a"}}
    model = Model(**given)

    def put_others(model):
        vars(model).update({name: value.copy() for name, value in given.items()})
        model.more = 1
        del model.names

    with pytest.raises(ValueError, match="a bad row"):
        fail(model, put_others)
    assert vars(model).keys() == given.keys()
    assert all(vars(model)[name] is given[name] for name in given)


def test_nothing_is_undone_without_an_error():
    model = Model(trees=[1], n=1)
    with unchanged_on_error(model):
        model.trees.append(2)
        model.n = 2
    assert vars(model) == {"trees": [1, 2], "n": 2}


def test_nobody_sees_attributes_half_restored():
    seen = []
    model = Model(n=1, trees=[1, 2])

    class Looks:
        def __del__(self):
            seen.append(dict(vars(model)))

    def change(model):
        model.looks = Looks()
        model.n = 2

    with pytest.raises(ValueError, match="a bad row"):
        fail(model, change)
    assert seen == [{"n": 1, "trees": [1, 2]}]


def test_no_signal_handler_comes_before_all_is_restored():
    model = Model(n=1, trees=[1, 2])
    failed = False

    def handle(frame, event, argument):
        # Python runs them at such events, and when it goes on with its own code.
        if failed and vars(model) != {"n": 1, "trees": [1, 2]}:
            raise KeyboardInterrupt

    try:
        sys.setprofile(handle)
        with unchanged_on_error(model):
            model.trees.append(3)
            model.n = 2
            failed = True
            raise OSError
    except OSError:
        pass
    finally:
        sys.setprofile(None)
    assert vars(model) == {"n": 1, "trees": [1, 2]}
