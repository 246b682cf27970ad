"""Figures of the documentation are files that a script has written.

A figure typed by hand is forgotten when the code changes. So every table of
measurements is a file in `benchmarks/results` that says where it comes from, the pages
read these files, and every script still starts.
"""

import csv
import importlib
import re
import shutil
import subprocess
import sys
from datetime import date
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import BENCHMARKS, RESULTS, ROOT, SCRIPTS, benchmarks_on_path

import skconftree
from skconftree import OASISClassifier
from skconftree.bounds import ec2_score
from skconftree.datasets import make_diced

DOC = ROOT / "doc"
PAGES = [
    page
    for page in DOC.rglob("*.rst")
    if not {"generated", "auto_examples"} & set(page.parts)  # left by a build
    and page.stem != "sg_execution_times"
]


@pytest.fixture
def results(monkeypatch):
    with benchmarks_on_path(monkeypatch):
        from common import results

        # to grow their trees takes a second; tests/test_stored_tables.py compares them
        found = dict.fromkeys(results.DEFAULT, "0a1b2c3d")
        monkeypatch.setattr(results, "fingerprints", lambda: found)
        yield results


def tables_of_pages():
    for page in PAGES:
        for told in re.findall(r":file: *(\S+)", page.read_text("utf-8")):
            yield page, (page.parent / told).resolve()


def test_pages_read_tables_that_exist():
    found = list(tables_of_pages())
    assert len(found) > 25
    for page, table in found:
        assert table.parent == RESULTS.resolve(), (page.name, table.name)
        assert table.exists(), (page.name, table.name)


def test_every_table_says_where_it_comes_from(results):
    known = results.measured()
    files = {path.stem for path in RESULTS.glob("*.csv")} - {"measured"}
    assert set(known) == files
    scripts = {path.stem for path in SCRIPTS} | {"mutation"}  # of tests
    for name, facts in known.items():
        assert all(facts[key] for key in results.REQUIRED), name
        assert facts["script"] in scripts, name
        date.fromisoformat(facts["date"])


def test_tables_are_tables():
    for path in RESULTS.glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        assert len(rows) > 1, path.name
        assert len({len(row) for row in rows}) == 1, path.name


def test_cases_that_are_lost_are_those_of_the_other_tables(results, tmp_path):
    """The page reads them from other results, which may have been measured again."""
    script = importlib.import_module("studies.where_it_loses")
    script.main(["--results", str(tmp_path)])
    name = "where-it-loses.csv"
    assert (tmp_path / name).read_text("utf-8") == (RESULTS / name).read_text("utf-8")


def test_no_page_has_a_table_of_figures_of_its_own():
    """Other tables hold words: what a bound is for, what a setting does."""
    for page in PAGES:
        for table in re.findall(
            r"\.\. list-table::.*\n((?:   .*\n|\n)+)", page.read_text("utf-8")
        ):
            cells = re.findall(r"^   [* ] - (.*)$", table, re.MULTILINE)
            figures = [cell for cell in cells if re.match(r"[-+]?\d+(\.\d| ?%)", cell)]
            assert not figures, (page.name, figures[:3])


def test_a_table_is_shown_written_and_recorded(results, tmp_path, capsys):
    tables = results.Tables("some_script", tmp_path, "a note")
    tables.show("one", ["rule", "points"], [["default", "+0.1"], ["none", "-"]])
    assert "default  +0.1" in capsys.readouterr().out
    tables.show("one", ["rule", "points"], [["default", "+0.2"]])
    tables.show("two", ["rule"], [["x"]])
    assert (tmp_path / "one.csv").read_text() == "rule,points\ndefault,+0.2\n"
    known = results.measured(tmp_path)
    assert sorted(known) == ["one", "two"]
    assert known["one"]["script"] == "some_script"
    assert known["one"]["note"] == "a note"
    assert known["one"]["processor"]
    assert all(known["one"][key] for key in results.REQUIRED)
    results.Tables("some_script", None).show("three", ["a"], [["b"]])
    assert not (tmp_path / "three.csv").exists()


def test_every_script_says_how_it_is_run(results, capsys):
    for path in SCRIPTS:
        script = importlib.import_module(f"{path.parent.name}.{path.stem}")
        with pytest.raises(SystemExit):
            script.main(["--help"])
        told = " ".join(capsys.readouterr().out.split())
        source = path.read_text("utf-8")
        assert source.splitlines()[0].strip('"') in told
        assert f"python benchmarks {path.stem}" in source


def test_nothing_is_stored_from_an_uncommitted_tree(monkeypatch, results, tmp_path):
    from common import options

    given = SimpleNamespace(results=None)
    monkeypatch.setattr(results, "environment", lambda: {"commit": "0123abc+"})
    with pytest.raises(SystemExit, match="Commit first"):
        options.tables("some_script", given)
    given.results = tmp_path
    assert options.tables("some_script", given).folder == tmp_path
    given.results = None
    monkeypatch.setattr(results, "environment", lambda: {"commit": "0123abc"})
    assert options.tables("some_script", given).folder == RESULTS


@pytest.mark.parametrize("lock", [True, False])
def test_figures_say_whether_threads_shared_a_lock(lock, monkeypatch):
    with benchmarks_on_path(monkeypatch):
        from common.timing import environment
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: lock, raising=False)
    assert environment()["python"].endswith("t") is not lock


def test_a_missing_folder_of_tables_is_an_error(monkeypatch, tmp_path):
    with benchmarks_on_path(monkeypatch):
        from common.data import data_folder, manifest
    monkeypatch.delenv("SKCONFTREE_DATA", raising=False)
    with pytest.raises(SystemExit, match="benchmarks held_out --help"):
        data_folder()
    with pytest.raises(SystemExit, match="no folder of tables"):
        manifest(data_folder(tmp_path))
    (tmp_path / "manifest.json").write_text('{"datasets": [{"name": "iris"}]}')
    assert list(manifest(data_folder(tmp_path))) == ["iris"]


def test_an_unknown_benchmark_is_an_error():
    command = [sys.executable, "-P", str(BENCHMARKS), "no_such"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "There is no benchmark 'no_such'" in run.stderr
    assert "paper_a_toy" in run.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_changes_a_figure_makes_a_commit_uncommitted(monkeypatch, tmp_path):
    with benchmarks_on_path(monkeypatch):
        from common.timing import commit

    def git(*words):
        author = ["-c", "user.name=a", "-c", "user.email=a"]
        command = ["git", *author, *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    assert commit(tmp_path) == "?"
    (tmp_path / "benchmarks" / "results").mkdir(parents=True)
    for name in ("code.py", "benchmarks/script.py", "benchmarks/results/a.csv"):
        (tmp_path / name).write_text("1")
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    clean = commit(tmp_path)
    assert re.fullmatch("[0-9a-f]{7,}", clean)
    (tmp_path / "benchmarks/results/a.csv").write_text("2")
    assert commit(tmp_path) == clean
    for name in ("code.py", "benchmarks/new.py"):
        (tmp_path / name).write_text("2")
        assert commit(tmp_path) == clean + "+"
        git("add", ".")
        git("commit", "-m", "next")
        clean = commit(tmp_path)


@pytest.mark.slow
def test_a_quick_run_writes_to_the_given_folder(tmp_path):
    command = [sys.executable, "-P", str(BENCHMARKS), "nominal_sets", "--tables", "1"]
    subprocess.run([*command, "--results", str(tmp_path)], check=True)
    assert (tmp_path / "categories-sets.csv").exists()
    assert (tmp_path / "measured.csv").exists()


def test_sparse_tables_are_those_of_the_folder_that_the_environment_names(
    monkeypatch, tmp_path
):
    with benchmarks_on_path(monkeypatch):
        from speed import tables
    asked = []

    def encoded(name, folder):
        asked.append((name, folder))
        return np.eye(4), np.array([0, 1, 0, 1]), None

    monkeypatch.setattr(tables, "encoded", encoded)
    monkeypatch.setattr(tables, "sparse_rows", lambda *given: [["default"] * 7])
    monkeypatch.setenv("SKCONFTREE_DATA", str(tmp_path))
    tables.main(["--quick", "--only", "sparse"])
    assert asked == [("a9a", tmp_path)]


@pytest.fixture
def runs_of(monkeypatch, tmp_path):
    with benchmarks_on_path(monkeypatch):
        from common.runs import Runs

    def make(n_runs, cache=tmp_path / "kept"):
        return Runs("some_script", SimpleNamespace(runs=n_runs, cache=cache))

    return make


def test_stored_runs_are_not_repeated(runs_of):
    made = []

    def one(seed):
        made.append(seed)
        return (seed, {2: 0.1})

    assert runs_of(2).each(one, table="a") == [[0, {"2": 0.1}], [1, {"2": 0.1}]]
    assert runs_of(4).each(one, table="a")[3] == [3, {"2": 0.1}]
    assert len(runs_of(3).each(one, table="a")) == 3
    assert made == [0, 1, 2, 3]
    runs_of(1).each(one, table="b")
    runs_of(1, None).each(one, table="a")
    assert made == [0, 1, 2, 3, 0, 0]


def test_runs_before_a_failure_are_stored(runs_of):
    def fails_at(bad, seed):
        if seed == bad:
            raise RuntimeError("stopped")
        return seed

    with pytest.raises(RuntimeError, match="stopped"):
        runs_of(5).each(partial(fails_at, 3), p=0.1)
    with pytest.raises(RuntimeError, match="stopped"):  # not run: 0, 1, 2
        runs_of(5).each(partial(fails_at, 4), p=0.1)
    assert runs_of(5).each(partial(fails_at, 2), p=0.1) == [0, 1, 2, 3, 4]


def test_pictures_of_zeros_and_ones_have_ten_components(monkeypatch):
    with benchmarks_on_path(monkeypatch):
        from papers.paper_d_oasis import digits
    rng = np.random.default_rng(0)
    pictures = rng.random((1200, 30))
    X, y = digits(pictures, rng.integers(0, 4, 1200).astype(str))
    assert X.shape[1] == 10
    assert set(y) == {0, 1}
    assert len(X) == len(y) < 1200


def test_tables_of_packages_are_read_as_numbers(monkeypatch, tmp_path):
    with benchmarks_on_path(monkeypatch):
        from common import packaged
    path = tmp_path / "lymph.dat"
    path.write_text(
        "@relation a\n@attribute b {yes, no}\n@attribute c real\n"
        "@attribute d {p, q}\n@data\nyes,2,q\nno, 0.5,p\n"
    )
    monkeypatch.setattr(packaged, "package_file", lambda _: path)
    X, y, is_nominal = packaged.packaged("lymph")
    assert (X.tolist(), y.tolist()) == ([[1, 2], [0, 0.5]], [1, 0])
    assert is_nominal.tolist() == [True, False]
    X, y, _ = packaged.packaged("waveform")
    assert X.shape == (5000, 21)
    middle = [X[y == one, 10].mean() for one in range(3)]  # 6, 2 and 2 at the peaks
    assert middle == pytest.approx([4, 4, 2], abs=0.15)


def test_pairs_of_febrl_are_similar_where_they_match(monkeypatch):
    with benchmarks_on_path(monkeypatch):
        from common.febrl import CODES, WORDS, febrl_pairs
    rng = np.random.default_rng(0)
    texts = rng.integers(97, 123, (20, 6), dtype=np.uint8)
    texts[3] = 0
    files = [dict.fromkeys((*WORDS, *CODES), texts)] * 2
    X, y = febrl_pairs(files, np.arange(20), 5, 0)
    assert X.shape == (120, 9)
    assert y.sum() == 20
    assert np.unique(X[y == 1]).tolist() == [-1, 1]
    assert X[y == 0].max() < 1


class Timed:
    """A build whose calls take what they are told to."""

    def __init__(self, seconds):
        self.seconds = iter(seconds)

    def ask(self, request):
        return next(self.seconds) if request == "seconds" else 7


def test_builds_take_turns(monkeypatch):
    with benchmarks_on_path(monkeypatch):
        from common.builds import compare
    ours, other, again = Timed([1, 2, 1]), Timed([1, 1, 1]), Timed([3, 2, 1])
    found = compare([ours, other, again], {}, 3)
    assert found == {
        "ratio": 2.0,  # of (1 + 3) / 2, (2 + 2) / 2 and (1 + 1) / 2
        "twice": 1.0,  # of 3 / 1, 2 / 2 and 1 / 1
        "seconds": (2.0, 1),
        "leaves": (7, 7),
    }


@pytest.mark.slow
def test_a_build_times_its_calls_in_a_process(monkeypatch, tmp_path):
    with benchmarks_on_path(monkeypatch):
        from common.builds import Build
        from common.timing import save_table
    X, y = make_diced(1200, random_state=0)
    paths = save_table(tmp_path, X.astype(np.float32), y)
    build = Build(sys.executable)
    assert build.name.startswith(skconftree.__version__)
    model = "ConfidenceTreeClassifier(bounds.GTestBound(), max_leaf_nodes=2)"
    for call in ("fit", "predict_proba", "chunks", "learn one row", "predict one row"):
        assert build.ask({"table": paths, "model": model, "call": call}) in (1, 2)
        assert build.ask("seconds") > 0.0
    build.close()
    assert build.process.returncode == 0


@pytest.mark.parametrize("likelihood", ["normal", "steep", "flat"])
@pytest.mark.parametrize("unlabeled", [False, True])
def test_the_cloud_of_a_pool_is_the_estimator_without_moves(
    likelihood, unlabeled, monkeypatch
):
    """Figures made with a copy of the update in NumPy are figures of the estimator."""
    with benchmarks_on_path(monkeypatch):
        from papers.paper_d_oasis import Cloud, standard
    X, y = make_diced(60, random_state=1)
    X = standard(X)
    model = OASISClassifier(
        likelihood,
        n_particles=50,
        standardize=False,
        fit_intercept=False,
        resample=False,
        random_state=0,
    )
    seen = X[:30] if unlabeled else np.zeros((1, 2))
    model.partial_fit(seen, np.full(len(seen), np.nan), classes=[0, 1])
    cloud = Cloud(model, X)
    for i in (3, 41, 7, 22, 58):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        cloud.weigh(i, y[i])
        np.testing.assert_allclose(cloud.weights(), model.weights_[0], rtol=1e-5)
        share = model.predict_proba(X)[:, 1]
        np.testing.assert_allclose(cloud.share(), share, rtol=1e-5)
        for score in ("oasis", "uc"):
            np.testing.assert_allclose(
                cloud.scores(score), model.query_score(X, score), atol=1e-5
            )
    assert model.n_moves_[0] == 0


def test_the_pool_of_ec2_is_the_estimator_without_moves(monkeypatch):
    """Weights and predictions, and the edges that each label cuts."""
    with benchmarks_on_path(monkeypatch):
        from papers.paper_d_ec2 import Pool, cloud_of
    X, y = make_diced(60, random_state=1)
    X = 2.0 * np.asarray(X, dtype=float)
    options = SimpleNamespace(particles=50, prior="normal")
    model = cloud_of(options, X, 0)
    pool = Pool(model, X, np.random.default_rng(0))
    np.testing.assert_allclose(pool.drawn, 1 / 50)
    for i in (3, 41, 7):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        pool.weigh(i, y[i])
        np.testing.assert_allclose(pool.weights(), model.weights_[0], rtol=1e-5)
    assert pool.predict().tolist() == model.predict(X).tolist()
    right = ((pool.above > 0) == y)[:, [3, 41, 7]].all(axis=1)
    assert (pool.drawn > 0).tolist() == right.tolist()
    drawn = pool.draw()
    assert drawn.sum() == pytest.approx(1.0)
    assert np.abs(drawn - pool.weights()).max() < 1 / 50
    tables = np.stack([drawn[:, None] * (pool.above == z) for z in (0, 1)])
    np.testing.assert_allclose(
        pool.edges_cut(drawn), ec2_score(tables.transpose(2, 0, 1)), rtol=1e-4
    )


def test_lazy_evaluation_of_the_pool_scores_what_may_be_best(monkeypatch):
    """The first labels all rows; then as many as the stale scores let through."""
    with benchmarks_on_path(monkeypatch):
        from papers.paper_d_ec2 import Pool, cloud_of
    X, y = make_diced(60, random_state=1)
    X = 2.0 * np.asarray(X, dtype=float)
    model = cloud_of(SimpleNamespace(particles=50, prior="normal"), X, 0)
    left = np.arange(60)
    for factor, n_scored in ((None, None), (1.0, None), (100.0, 59), (0.0, 16)):
        pool = Pool(model, X, np.random.default_rng(0))
        first = pool.likely(left, factor)
        scores = pool.edges_cut(pool.drawn)
        assert scores[first] == scores.max()
        np.testing.assert_allclose(pool.scores, scores, rtol=1e-6)
        pool.weigh(first, y[first])
        kept = pool.drawn.sum()
        others = np.delete(left, first)
        chosen = pool.likely(others, factor)
        stale = scores * (kept if factor is None else factor)
        new = pool.edges_cut(pool.drawn)
        scored = others[~np.isclose(pool.scores[others], stale[others], rtol=1e-6)]
        if n_scored is not None:
            assert len(scored) == n_scored
        assert new[chosen] == pytest.approx(new[scored].max())
        rest = np.setdiff1d(others, scored)
        assert np.all(stale[rest] <= new[chosen] * (1 + 1e-6))


def test_errors_on_the_way_are_those_after_so_many_labels(monkeypatch):
    with benchmarks_on_path(monkeypatch):
        from papers.paper_d_oasis import LOOKS, offline, standard
    X, y = make_diced(60, random_state=1)
    X = standard(X) + np.random.default_rng(0).normal(scale=0.5, size=X.shape)
    errors = offline(X, y, "random", SimpleNamespace(particles=50), 3)

    model = OASISClassifier(
        n_particles=50,
        standardize=False,
        fit_intercept=False,
        resample=False,
        random_state=3,
    )
    model.partial_fit(np.zeros((1, 2)), [np.nan], classes=[0, 1])
    rng, left, found = np.random.default_rng(3), list(range(60)), {}
    for n in range(1, 51):
        i = rng.choice(left)
        left.remove(i)
        model.partial_fit(X[[i]], y[[i]])
        found[n] = (model.predict(X) != y).mean()
    assert errors == [found[n] for n in LOOKS]
    assert LOOKS[-1] == 50
    assert len(set(errors)) > 3


@pytest.mark.parametrize(
    ("score", "threshold"), [("oasis", 0.99), ("gbs", 0.01), ("uc", 0.29)]
)
def test_the_particles_of_a_stream_equal_the_estimator(score, threshold, monkeypatch):
    """Figures made without the estimator's validation are the estimator's figures."""
    with benchmarks_on_path(monkeypatch):
        from papers.paper_d_oasis import online, standard
    X, y = make_diced(60, random_state=1)
    X = standard(X) + np.random.default_rng(0).normal(scale=0.5, size=X.shape)
    options = SimpleNamespace(particles=50, buffer=1000)
    error, n_asked = online(X, y, score, threshold, options, 3)

    order = np.random.default_rng(3).permutation(60)
    second = next(i for i in order if y[i] != y[order[0]])
    model = OASISClassifier(
        n_particles=50, standardize=False, fit_intercept=False, random_state=3
    )
    given = [order[0], second]
    model.partial_fit(X[given], y[given], classes=[0, 1])
    wrong = asked = 0
    for i in order:
        if i in given:
            continue
        value = model.query_score(X[[i]], score)[0]
        ask = value > threshold if score == "gbs" else value < threshold
        asked += ask
        label = [float(y[i]) if ask else np.nan]
        wrong += model.partial_fit_predict(X[[i]], label)[0] != y[i]
    assert (error, n_asked) == (wrong / 60, asked)
    assert 3 < asked < 57
    assert wrong > 0


def test_the_toy_problem_is_that_of_the_paper(monkeypatch):
    """Its risks are known, and trees grown side by side are those grown alone."""
    with benchmarks_on_path(monkeypatch):
        from papers.paper_a_toy import LEVEL, MEAN, POOL, SHARES, GridTree, Runs
    assert np.minimum(SHARES, 1 - SHARES).mean() == pytest.approx(0.21395, abs=5e-6)
    assert min(MEAN[0], 1 - MEAN[0]) == pytest.approx(0.36917, abs=5e-6)
    runs = Runs("BOCT", (0.3,), 0, 3)
    trees = [GridTree(0.3) for _ in range(3)]
    for _ in range(150):
        before = runs.counts.copy()
        runs.step()
        for run, tree in enumerate(trees):
            node, label = np.argwhere(runs.counts[run] != before[run])[-1]
            cell = node - (LEVEL == 6).argmax()
            row = cell * (len(POOL) // 64)
            tree.partial_fit(POOL[row : row + 1], [label])
            assert tree.leaf_of.tolist() == runs.leaf_of[run].tolist()
    assert max(tree.leaf_of.max() for tree in trees) > 2
    found = [tree.true_risk() for tree in trees]
    np.testing.assert_allclose(runs.true_risk(), found)
