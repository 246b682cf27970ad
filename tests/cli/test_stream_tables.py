"""Tables with texts and holes are what users have, and a stream shows them bit by bit.

Which columns are nominal must not depend on how the rows are cut into chunks, and a
category that comes late, a kill or a resumption must not change the saved model.
"""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reference.effort import cases

from skconftree import ConfidenceTreeClassifier
from skconftree._cli import main
from skconftree._cli._readers import MAX_COLUMN_CATEGORIES
from skconftree.tables._features import MAX_CATEGORIES
from skconftree.utils import _model_file

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

N_ROWS = 2200
HEADER = ["fur", "kind", "mark", "age"]
HOLES = {None: ["", "?", "NA", " nan "]}


@pytest.fixture(scope="module")
def rows():
    """Furs and marks decide the class; from row 1,500 on there is one more fur."""
    rng = np.random.default_rng(0)
    fur = rng.choice(["smooth", "rough", "none", None], N_ROWS)
    fur[1500:][rng.random(N_ROWS - 1500) < 0.3] = "curly"
    mark = rng.choice([None, 1.5, 3.0], N_ROWS)
    age = rng.integers(1, 5, N_ROWS)
    cat = np.isin(fur, ["rough", "curly", None]) ^ (mark == 3.0)
    kind = np.where(cat ^ (rng.random(N_ROWS) < 0.03), "cat", "dog")
    return list(zip(fur.tolist(), kind.tolist(), mark.tolist(), age, strict=True))


def write(path, rows):
    """Write CSV, with holes in all the ways there are."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for place, row in enumerate(rows):
            hole = HOLES[None][place % len(HOLES[None])]
            writer.writerow([hole if one is None else one for one in row])
    return path


@pytest.fixture
def table(tmp_path, rows):
    return write(tmp_path / "table.csv", rows)


def command(table, model, *more):
    argv = ["stream", str(table), "--target", "kind", "--output", str(model)]
    argv += ["--bound", "evalue", "--checkpoint-every", "500", "--chunk-size", "100"]
    return [*argv, *more]


@pytest.fixture(scope="module")
def left_alone(tmp_path_factory, rows):
    """Bytes of the model of a run that nothing happens to."""
    folder = tmp_path_factory.mktemp("alone")
    assert main(command(write(folder / "table.csv", rows), folder / "model")) == 0
    return (folder / "model").read_bytes()


def object_matrix(rows):
    X = np.array([[fur, mark, age] for fur, _, mark, age in rows], dtype=object)
    X[:, 1] = [np.nan if one is None else one for one in X[:, 1]]
    return X, np.array([kind for _, kind, _, _ in rows])


def test_the_tree_is_the_one_that_partial_fit_grows(table, rows, tmp_path, capsys):
    report, model = tmp_path / "report.json", tmp_path / "model"
    assert main(command(table, model, "--json", str(report))) == 0
    assert "nominal columns: 1" in capsys.readouterr().out
    X, y = object_matrix(rows)
    tree = ConfidenceTreeClassifier(
        bound="evalue", random_state=0, categorical_features=[0]
    )
    right = tree.partial_fit_predict(X, y, classes=["cat", "dog"]) == y
    found = json.loads(report.read_text())
    assert found["data"]["nominal"] == ["fur"]
    assert found["figures"]["accuracy"] == right.mean() > 0.85
    assert found["figures"]["n_leaves"] == tree.get_n_leaves() > 2
    saved, _ = _model_file.load(model)
    order = dict.fromkeys(row[0] for row in rows)
    assert saved.categories_ == tree.categories_ == [list(order), None, None]
    assert saved.categories_[0][-1] == "curly"
    np.testing.assert_array_equal(saved.predict_proba(X), tree.predict_proba(X))


@pytest.mark.parametrize("size", cases(["1", "37", "9999"], ["37", "9999"]))
def test_the_size_of_pieces_leaves_no_trace(table, tmp_path, left_alone, size):
    model = tmp_path / "model"
    assert main(command(table, model, "--chunk-size", size)) == 0
    assert model.read_bytes() == left_alone


@pytest.mark.slow
def test_a_killed_run_goes_on(table, tmp_path, left_alone, killed_at):
    model = tmp_path / "model"
    again = command(table, model, "--resume")
    for saving, when in [(2, "before"), (3, "after"), (1, "after")]:
        killed_at(saving, when, again)
    assert main(again) == 0
    assert model.read_bytes() == left_alone


def test_a_stream_may_grow(tmp_path, rows, left_alone):
    table, model = tmp_path / "table.csv", tmp_path / "model"
    for n_rows in (40, 1499, N_ROWS):
        write(table, rows[:n_rows])
        more = ["--resume", "--classes", "cat,dog"]
        assert main(command(table, model, *more)) == 0
    assert model.read_bytes() == left_alone


def test_the_columns_of_a_resumed_run_are_those_it_began_with(tmp_path, rows, capsys):
    """The look at the first rows is not taken again when they have become more."""
    table, model = tmp_path / "table.csv", tmp_path / "model"
    write(table, rows[:20])
    assert main(command(table, model)) == 0
    mended = [*rows[:20], *[("rough", "cat", "tiny", 2)] * 120]
    write(table, mended)
    assert main(command(table, model, "--resume")) == 1
    err = capsys.readouterr().err
    assert "row 121, column 'mark': 'tiny' is not a number, nor are 100 values" in err
    assert "start again with --nominal mark" in err
    saved, progress = _model_file.load(model)
    assert progress["rows"] == saved.n_rows_seen_ == 120
    assert saved.categories_[1] is None


def test_numbers_may_be_categories(table, tmp_path, capsys):
    model = tmp_path / "model"
    more = ["--nominal", "age, mark"]
    assert main(command(table, model, *more)) == 0
    assert "nominal columns: 3" in capsys.readouterr().out
    saved, _ = _model_file.load(model)
    assert sorted(saved.categories_[2]) == ["1", "2", "3", "4"]
    assert {None, "1.5", "3.0"} == set(saved.categories_[1])
    assert main(command(table, model, "--resume", *more)) == 0
    assert main(command(table, model, "--resume")) == 1
    assert "--nominal changed from ['age', 'mark'] to []" in capsys.readouterr().err


def test_a_column_without_values_is_numeric(tmp_path, rows):
    table, model = tmp_path / "table.csv", tmp_path / "model"
    write(table, [(fur, kind, None, age) for fur, kind, _, age in rows])
    assert main(command(table, model)) == 0
    assert _model_file.load(model)[0].categories_[1] is None


def test_a_column_of_names_is_named_before_it_fills_the_tree(tmp_path, rows, capsys):
    assert MAX_COLUMN_CATEGORIES == MAX_CATEGORIES
    table, model = tmp_path / "table.csv", tmp_path / "model"
    names = [f"name {place}" for place in range(MAX_COLUMN_CATEGORIES + 300)]
    many = [(name, *rows[place % N_ROWS][1:]) for place, name in enumerate(names)]
    write(table, many)
    words = (
        f"row {MAX_COLUMN_CATEGORIES + 1}: column 'fur' has more than "
        f"{MAX_COLUMN_CATEGORIES}"
    )
    for size in ("1000", "9999"):
        assert main(command(table, model, "--chunk-size", size)) == 1
        assert words in capsys.readouterr().err
        saved, progress = _model_file.load(model)
        assert progress["rows"] == saved.n_rows_seen_ == MAX_COLUMN_CATEGORIES
        model.unlink()
    few = [(f"name {place // 2}", *row[1:]) for place, row in enumerate(many * 2)]
    write(table, few)
    assert main(["fit", str(table), "--target", "kind"]) == 1
    assert (
        f"row {2 * MAX_COLUMN_CATEGORIES + 1}: column 'fur' has"
        in capsys.readouterr().err
    )


def parquet(path, rows, **changed):
    columns = dict(zip(HEADER, map(list, zip(*rows, strict=True)), strict=True))
    columns["age"] = pa.array(columns["age"], pa.int64())
    pq.write_table(pa.table({**columns, **changed}), path, row_group_size=370)
    return path


@pytest.mark.parametrize("size", cases(["1", "100", "9999"], []))
def test_parquet_gives_the_same_tree(
    tmp_path, rows, left_alone, same_model, killed_at, size
):
    table, model = tmp_path / "table.parquet", tmp_path / "model"
    more = ["--chunk-size", size, "--resume"]
    parquet(table, rows[:700])
    assert main(command(table, model, *more)) == 0
    parquet(table, rows)
    killed_at(2, "after", command(table, model, *more))
    assert main(command(table, model, *more)) == 0
    assert same_model(model, left_alone)


def test_parquet_checks_the_texts_that_were_used(tmp_path, rows, capsys):
    table, model = tmp_path / "table.parquet", tmp_path / "model"
    assert main(command(parquet(table, rows[:700]), model)) == 0
    fur, *rest = rows[3]
    other = "smooth" if fur is None else None
    parquet(table, [*rows[:3], (other, *rest), *rows[4:]])
    assert main(command(table, model, "--resume")) == 1
    assert "has learned 700 rows that" in capsys.readouterr().err


def test_parquet_holds_categories_and_empty_columns_too(tmp_path, rows):
    table, model = tmp_path / "table.parquet", tmp_path / "model"
    fur = pa.array([row[0] for row in rows]).dictionary_encode()
    empty = pa.nulls(N_ROWS)
    parquet(table, rows, fur=fur, empty=empty)
    assert main(command(table, model, "--nominal", "age")) == 0
    saved, _ = _model_file.load(model)
    assert set(saved.categories_[0]) == {"smooth", "rough", "none", None, "curly"}
    assert saved.categories_[1] is None
    assert sorted(saved.categories_[2]) == ["1", "2", "3", "4"]
    assert saved.categories_[3] is None
