"""scikit-learn's own tests of its tree and forest, run on the classes of this package.

The test files are those of the installed scikit-learn. In a copy, its two classifiers
are replaced by ours without a bound, without pruning, and with the Gini index, which
are scikit-learn's settings. Tests of regressors, extra trees and embeddings are not
run. A test that fails must be a decision, and a decision must have a test that fails.
"""

import pathlib
import re
import subprocess
import sys

import pytest
import sklearn

SHIM = """
from skconftree import {ours}

def {theirs}({arguments}**parameters):
    parameters.setdefault("criterion", "gini")
    return {ours}({passed}bound=None, pruning=None, **parameters)

"""
FORMS = {
    "tree": {"theirs": "DecisionTreeClassifier", "arguments": "", "passed": ""}
    | {"ours": "ConfidenceTreeClassifier"},
    "forest": {"theirs": "RandomForestClassifier", "passed": "n_estimators, "}
    | {"ours": "ConfidenceForestClassifier", "arguments": "n_estimators=100, "},
}
SHIMS = {form: SHIM.format(**words) for form, words in FORMS.items()}
SHIMS["monotonic"] = SHIMS["tree"] + SHIMS["forest"]
NOT_OURS = "not Regressor and not ExtraTree and not extra_tree and not Embedding"
FILES = {  # the file, the first line after the imports, and the tests to run
    "tree": ("tree/tests/test_tree.py", "CLF_CRITERIONS = ", NOT_OURS),
    "forest": (
        "ensemble/tests/test_forest.py",
        "FOREST_CLASSIFIERS = {",
        f"RandomForestClassifier or ({NOT_OURS})",
    ),
    "monotonic": (
        "tree/tests/test_monotonic_tree.py",
        "TREE_CLASSIFIER_CLASSES = ",
        "DecisionTreeClassifier or RandomForestClassifier",
    ),
}
OUTPUTS = "one output only"
CYTHON = "needs the compiled classes of scikit-learn"
PRIVATE = "reads or sets private attributes of scikit-learn"
WORDING = "another wording of an error or a warning"
DECISIONS = {
    "tree": {
        r"multioutput|multilabel|classes_shape|class_weights\[": OUTPUTS,
        r"class_weight_errors|min_weight_fraction_leaf_.*on_sparse_input": OUTPUTS,
        r"huge_allocations|build_pruned_tree": CYTHON,
        r"importances_gini_equal_squared_error": "ties: the lowest feature is split",
        r"almost_constant_feature": "float32 values that differ are different values",
    },
    "forest": {
        r"multi_?output|X3-y3|classes_shape|y_sparse|class_weight_errors": OUTPUTS,
        r"test_sparse_input": OUTPUTS,
        r"validate_y|oob_not_computed_twice|class_weights_forest|geq_one": PRIVATE,
        r"unfitted_feature_importances|oob_warning|requires_bootstrap": WORDING,
        r"max_samples_bootstrap|equal_n_estimators": WORDING,
        r"test_min_samples_split": "a row that was drawn twice counts as two",
        r"test_importances\[": "as many rows are drawn as the weights sum to",
    },
    "monotonic": {r"multiple_output": OUTPUTS},
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FILES)
def test_what_differs_is_a_decision(form, tmp_path):
    path, mark, which = FILES[form]
    text = (pathlib.Path(sklearn.__file__).parent / path).read_text(encoding="utf-8")
    assert text.count(mark) >= 1
    name = f"test_{form}.py"
    (tmp_path / name).write_text(
        text.replace(mark, SHIMS[form] + mark, 1), encoding="utf-8"
    )
    (tmp_path / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef global_random_seed():\n    return 42\n"
    )
    options = ["-q", "-p", "no:cacheprovider", "--tb=no", "-rf", "-W", "ignore"]
    run = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *options, "-k", which, name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed, run.stdout + run.stderr
    assert int(passed[1]) > 20
    failed = re.findall(r"^FAILED [^:]+::(.+)$", run.stdout, re.MULTILINE)
    decided = {reason: [] for reason in DECISIONS[form]}
    for test in failed:
        for pattern, tests in decided.items():
            if re.search(pattern, test):
                tests.append(test)
                break
        else:
            pytest.fail(f"Not a decision: {test}")
    assert all(decided.values()), [name for name in decided if not decided[name]]
