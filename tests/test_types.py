"""Type checkers accept the calls of users: mypy, and pyright if installed."""

import ast
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import skconftree

ROOT = Path(__file__).parents[1]
EXPECTED = Path(__file__).parent / "types_expected.py"
ROOMS = {"": skconftree} | {
    f".{room}": importlib.import_module(f"skconftree.{room}")
    for room in (
        *("active", "active.ec2", "active.lts", "active.pool", "active.session"),
        *("active.stream", "bounds", "datasets", "drift", "ensemble", "evaluation"),
        *("inspection", "large", "linear_model", "testing", "tree"),
    )
}
# What these give has no types: objects of libraries without, a compiled kernel, and a
# model of a class that only the file has.
OF_OTHERS = {
    *("cost_complexity_pruning_path", "decision_path", "to_frame", "to_sklearn"),
    *("kernel", "model_after", "predict_one", "prune", "to_tree"),
    *("export_onnx", "load_model", "predict_many", "predict_proba_many"),
}


def compiled_names():
    """Public names that come from an extension module, by the module."""
    for room in ("bounds", "drift"):
        package = importlib.import_module(f"skconftree.{room}")
        for name in package.__all__:
            module = inspect.getmodule(getattr(package, name))
            if not module.__file__.endswith(".py"):
                yield module.__name__, name, getattr(package, name)


def stub_of(module):
    path = ROOT.joinpath(*module.split(".")).with_suffix(".pyi")
    assert path.exists(), f"{module} is compiled and public: it needs a stub"
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name: node for node in tree.body if hasattr(node, "name")}


def arguments(function):
    """Names of parameters of a stub, with what they are by default."""
    told = function.args
    plain = dict.fromkeys((one.arg for one in told.args), inspect.Parameter.empty)
    for one, value in zip(reversed(told.args), reversed(told.defaults), strict=False):
        plain[one.arg] = ast.literal_eval(value)
    only = {
        one.arg: inspect.Parameter.empty if value is None else ast.literal_eval(value)
        for one, value in zip(told.kwonlyargs, told.kw_defaults, strict=True)
    }
    return plain, only


def test_stubs_have_the_signatures_of_the_compiled_code():
    found = list(compiled_names())
    assert len(found) > 25
    for module, name, one in found:
        stub = stub_of(module)[name]
        if inspect.isclass(one):
            inside = {node.name: node for node in stub.body if hasattr(node, "name")}
            properties = {
                key
                for key, value in vars(one).items()
                if isinstance(value, property) and not hasattr(one.__base__, key)
            }
            assert properties == set(inside) - {"__init__"}, name
            stub, one = inside["__init__"], one.__init__
        plain, only = arguments(stub)
        parameters = inspect.signature(one).parameters.values()
        keyword = inspect.Parameter.KEYWORD_ONLY
        assert only == {p.name: p.default for p in parameters if p.kind is keyword}, (
            name
        )
        assert plain == {
            p.name: p.default for p in parameters if p.kind is not keyword
        }, name


RIGHT = """
import numpy as np

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, HoeffdingBound, hoeffding_radius
from skconftree.datasets import make_sea
from skconftree.drift import ADWIN, DDM
from skconftree.evaluation import prequential_score
from skconftree.tree import export_text

X, y = make_sea(500, random_state=0)
bound = HoeffdingBound(0.01, against="no_split")
tree = ConfidenceTreeClassifier(bound, delta=0.1, drift=DDM(min_samples=20))
text: str = export_text(tree.partial_fit(X, y, classes=[0, 1]))
limit: float = float(hoeffding_radius(100, bound.delta))
forest = ConfidenceForestClassifier(5, bound=CredibleBound(prior="perks")).fit(X, y)
share = np.mean(forest.predict(X) == y)
score = prequential_score(ConfidenceTreeClassifier(), X, y)
width: int = ADWIN().width_
"""
WRONG = """
from skconftree import ConfidenceTreeClassifier
from skconftree.bounds import CredibleBound, hoeffding_radius
from skconftree.drift import DDM
from skconftree.tree import export_text

CredibleBound(delta="0.1")
CredibleBound(prior="flat")
hoeffding_radius(100)
DDM(min_sample=20)
ConfidenceTreeClassifier(splitter="worst")
ConfidenceTreeClassifier().fit([[0.0], [1.0]])
ConfidenceTreeClassifier().predict([[0.0]]).sort_values()
export_text(ConfidenceTreeClassifier(), decimals="three")
"""


def copy_types(source, target):
    if Path(source).suffix in (".py", ".pyi", ".typed"):
        shutil.copy(source, target)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What mypy says of all programs at once, by their names; and where they are."""
    pytest.importorskip("mypy", reason="checking types needs mypy")
    folder = tmp_path_factory.mktemp("programs")
    if Path(skconftree.__file__).parents[1] == ROOT:
        # an editable install, which mypy does not know
        shutil.copytree(
            ROOT / "skconftree", folder / "skconftree", copy_function=copy_types
        )
    text = EXPECTED.read_text("utf-8")
    other = ("assert_type(tree.n_classes_, int)", "assert_type(tree.n_classes_, str)")
    rooms = "".join(f"import skconftree{room}\n" for room in ROOMS)
    programs = {
        "right": RIGHT,
        "wrong": WRONG,
        "expected": text,
        "unexpected": text.replace(*other),
        "calls": rooms + "".join(f"reveal_type({call})\n" for call in public_calls()),
    }
    for name, program in programs.items():
        (folder / f"{name}.py").write_text(program, encoding="utf-8")
    options = ["--no-incremental", "--follow-imports=silent"]
    run = subprocess.run(
        [sys.executable, "-P", "-m", "mypy", *options, *(f"{n}.py" for n in programs)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not run.stderr
    lines = run.stdout.splitlines()
    said = {
        name: [line for line in lines if line.startswith(f"{name}.py:")]
        for name in programs
    }
    return said | {"folder": folder}


def errors(lines):
    return [line for line in lines if ": error:" in line]


@pytest.mark.slow
def test_programs_of_users_have_types(told):
    exec(compile(RIGHT, "right.py", "exec"), {})
    assert errors(told["right"]) == []
    assert [line.split(":")[1] for line in errors(told["wrong"])] == [
        str(number) for number in range(7, 15)
    ]


@pytest.mark.slow
def test_types_are_those_expected(told):
    assert errors(told["expected"]) == []
    assert len(errors(told["unexpected"])) == 1


def public_calls():
    """Every public function, class and method of ours, in a program's words."""
    seen = set()
    for room, module in ROOMS.items():
        for name in getattr(module, "__all__", ()):
            one = getattr(module, name)
            if id(one) in seen or name == "__version__":
                continue
            seen.add(id(one))
            yield f"skconftree{room}.{name}"
            for member in dir(one) if inspect.isclass(one) else ():
                method = inspect.getattr_static(one, member)
                method = inspect.unwrap(getattr(method, "__func__", method))
                ours = (getattr(method, "__module__", None) or "").startswith("skconf")
                if callable(method) and ours and not member.startswith("_"):
                    yield f"skconftree{room}.{name}.{member}"


@pytest.mark.slow
def test_every_public_call_has_a_type(told):
    calls, lines = list(public_calls()), told["calls"]
    assert len(calls) > 400
    assert errors(lines) == []
    types = [line.split("Revealed type is ")[1] for line in lines if "Revealed" in line]
    assert len(types) == len(calls)
    untyped = {
        call
        for call, found in zip(calls, types, strict=True)
        if re.fullmatch('"Any"|.*-> Any"', found)
    }
    assert {call.rpartition(".")[2] for call in untyped} == OF_OTHERS


@pytest.mark.slow
def test_pyright_sees_the_same_types(told):
    pytest.importorskip("basedpyright", reason="one of the two checkers, of the night")
    run = subprocess.run(
        [sys.executable, "-P", "-m", "basedpyright", "--level=error", "expected.py"],
        cwd=told["folder"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout


def test_the_package_says_that_it_has_types():
    assert (ROOT / "skconftree/py.typed").exists()
