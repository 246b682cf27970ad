"""The file of a model is whole at any time, one run's alone, and checked before use.

A checkpoint is what a long run leaves: a full disk, a second run, a link in its place
or a stranger's file must not cost it, nor lead to other files.
"""

import contextlib
import errno
import json
import os
import pickle
import resource
import signal
import stat
import warnings
from collections import Counter

import numpy as np
import pytest
from reference.effort import cases
from reference.programs import PIPE, Process
from reference.registries import STREAM_BOUNDS

import skconftree
from skconftree._cli import _files, main
from skconftree._cli._common import UserError, with_columns
from skconftree._cli._files import locked
from skconftree.tree import export_text
from skconftree.utils import _model_file

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks and links")

ROWS = "".join(f"{i % 7},{i % 3},{'yes' if i % 7 > 3 else 'no'}\n" for i in range(900))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data" / "table.csv"
    path.parent.mkdir()
    path.write_text("a,b,kind\n" + ROWS)
    return path


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "models"
    path.mkdir()
    return path


def stream(table, model, *more):
    argv = ["stream", str(table), "--target", "kind", "--output", str(model)]
    return main([*argv, "--checkpoint-every", "300", "--chunk-size", "100", *more])


def names(folder):
    return sorted(os.listdir(folder))


def test_other_files_in_the_folder_are_unchanged(table, folder, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (folder / "model.tmp").symlink_to(precious)
    assert stream(table, folder / "model") == 0
    assert precious.read_text() == "keep me"
    assert names(folder) == ["model", "model.tmp"]
    assert not (folder / "model").is_symlink()


def test_the_target_of_a_link_is_replaced(table, folder, tmp_path):
    real, link = folder / "real", tmp_path / "link"
    link.symlink_to(real)
    table.write_text("a,b,kind\n" + ROWS[: len(ROWS) // 2])
    assert stream(table, link) == 0
    before = real.read_bytes()
    table.write_text("a,b,kind\n" + ROWS)
    assert stream(table, link, "--resume") == 0
    assert link.is_symlink()
    assert real.read_bytes() != before
    assert names(folder) == ["real"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_permissions_stay(table, folder, mode):
    model = folder / "model"
    before = os.umask(0o022)
    try:
        assert stream(table, model) == 0
        assert stat.S_IMODE(model.stat().st_mode) == 0o644
        model.chmod(mode)
        table.write_text("a,b,kind\n" + ROWS + "1,1,yes\n")
        assert stream(table, model, "--resume") == 0
        assert stat.S_IMODE(model.stat().st_mode) == mode
    finally:
        os.umask(before)


HOLD = """
import sys, time
from skconftree import ConfidenceTreeClassifier
from skconftree._cli._files import locked
from skconftree.utils._model_file import save
with locked(sys.argv[1]) as scratch:
    tree = ConfidenceTreeClassifier().fit([[0], [1]], [0, 1])
    save(sys.argv[1], tree, {"rows": 0}, scratch)
    print("held", flush=True)
    time.sleep(100)
"""


@contextlib.contextmanager
def holder(model):
    run = Process(HOLD, model, stdout=PIPE)
    try:
        assert run.stdout.readline() == b"held\n"
        yield run
    finally:
        run.close()


def test_a_second_run_reports_the_owner_of_the_model(table, folder, tmp_path, capsys):
    model, link = folder / "model", tmp_path / "link"
    link.symlink_to(model)
    with holder(model) as run:
        before = model.read_bytes()
        for path in (model, link):
            assert stream(table, path, "--resume") == 1
            err = capsys.readouterr().err
            assert f"is being written by process {run.pid} on " in err
            assert "model.lock" in err
            assert err.count("\n") == 1
        assert model.read_bytes() == before
        assert stream(table, folder / "other") == 0


@pytest.mark.slow
def test_a_killed_run_blocks_nobody_and_its_temporary_file_goes(table, folder):
    model = folder / "model"
    with holder(model) as run:
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert f"process {run.pid} on " in (folder / "model.lock").read_text()
    (folder / ".model.0123456789abcdef.part").write_text("half a model")
    (folder / ".model.mine.part").write_text("of somebody else")
    model.unlink()
    assert stream(table, model) == 0
    assert names(folder) == [".model.mine.part", "model"]


def test_runs_without_a_lock_have_temporary_files_of_their_own(folder, monkeypatch):
    """On some file systems: neither run removes or takes the file of the other."""

    def fail(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_files.fcntl, "flock", fail)
    model = folder / "model"
    with _files.locked(model) as one:
        (folder / one).write_text("half a model")
        with _files.locked(model) as other:
            assert one != other
            assert (folder / one).exists()


def test_what_is_no_lock_is_left_alone(table, folder, tmp_path, capsys):
    model, lock = folder / "model", folder / "model.lock"
    other = tmp_path / "other"
    other.write_text("")
    for make in (
        lambda: lock.write_text("my notes"),
        lambda: lock.write_text('{"program": "another"}'),
        lambda: lock.symlink_to(other),
        lock.mkdir,
    ):
        make()
        assert stream(table, model) == 1
        assert "model.lock" in capsys.readouterr().err
        assert lock.is_dir() or lock.is_symlink() or "o" in lock.read_text()
        assert other.read_text() == ""
        (lock.rmdir if lock.is_dir() else lock.unlink)()


def test_a_full_disk_leaves_the_model_before(table, folder, capsys):
    model = folder / "model"
    assert stream(table, model) == 0
    before = model.read_bytes()
    table.write_text("a,b,kind\n" + ROWS + ROWS)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
        assert stream(table, model, "--resume") == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert f"cannot write {model}: File too large" in capsys.readouterr().err
    assert model.read_bytes() == before
    assert names(folder) == ["model"]
    assert stream(table, model, "--resume") == 0


def members_of(path):
    with np.load(path) as found:
        return {name: found[name] for name in found.files}


def rewritten(path, change, members=None):
    """Change the states in a file as somebody can who knows the format."""
    members = dict(members or members_of(path))
    state = json.loads(members["state"].tobytes())
    change(state, members)
    members["state"] = np.frombuffer(json.dumps(state).encode(), dtype=np.uint8)
    members["sha256"] = np.array(_model_file._checksum(members))
    with open(path, "wb") as file:
        np.savez(file, **members)


class Program:
    """Runs when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_program_in_the_place_of_a_model_does_not_run(table, folder, capsys):
    model, ran = folder / "model", folder / "ran"
    assert stream(table, model) == 0
    whole = model.read_bytes()

    def hide(state, members):
        members["array_0"] = np.array([Program(ran)], dtype=object)

    def resumed():
        assert stream(table, model, "--resume") == 1
        return capsys.readouterr().err

    model.write_bytes(pickle.dumps(Program(ran)))
    assert "is not a model that" in resumed()
    with open(model, "wb") as file:
        np.savez(file, head=np.array([Program(ran)], dtype=object))
    assert "is not a model that" in resumed()
    model.write_bytes(whole)
    rewritten(model, hide)
    assert "is not a model that" in resumed()
    assert names(folder) == ["model"]


@pytest.mark.parametrize(
    "path",
    [
        "skconftree.bounds.param_grid",
        "skconftree.bounds.np",
        "skconftree.bounds.BaseBound",
        "skconftree.ConfidenceTreeClassifier",
        "sklearn.naive_bayes.GaussianNB",
        "os.mkdir",
    ],
)
def test_a_model_file_creates_only_parameters(table, folder, path, capsys):
    model = folder / "model"
    assert stream(table, model, "--bound", "credible") == 0

    def ask(state, members):
        text = json.dumps(state).replace("skconftree.bounds.CredibleBound", path)
        assert path in text
        state.update(json.loads(text))

    rewritten(model, ask)
    assert stream(table, model, "--bound", "credible", "--resume") == 1
    assert "cannot be read" in capsys.readouterr().err


def test_an_untrained_tree_is_rejected(table, folder, capsys):
    model = folder / "model"
    assert stream(table, model) == 0

    def forget(state, members):
        pairs = state["model"]["dict"]
        state["model"]["dict"] = [one for one in pairs if one[0] != "_model"]

    rewritten(model, forget)
    assert main(["predict", str(model), str(table)]) == 1
    assert "cannot be read: This ConfidenceTree" in capsys.readouterr().err


def test_an_archive_that_unpacks_to_more_than_itself_is_refused(table, folder, capsys):
    model = folder / "model"
    assert stream(table, model) == 0
    members = members_of(model)
    with open(model, "wb") as file:
        np.savez_compressed(file, **members)
    assert stream(table, model, "--resume") == 1
    assert "is not a model that" in capsys.readouterr().err


def test_no_model_is_made_before_all_is_checked(table, folder, monkeypatch, capsys):
    model = folder / "model"
    assert stream(table, model) == 0
    whole = model.read_bytes()

    def reading(*args):
        raise AssertionError("read")

    monkeypatch.setattr(_model_file, "from_json", reading)
    for place in (whole.index(b'"format"'), len(whole) // 2):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        model.write_bytes(damaged)
        assert stream(table, model, "--resume") == 1
        assert "or it is corrupt; name another" in capsys.readouterr().err
    model.write_bytes(whole[:-1])
    assert stream(table, model, "--resume") == 1
    assert "is not a model that" in capsys.readouterr().err
    model.write_bytes(whole)
    assert stream(table, model, "--resume", "--delta", "0.5") == 1
    assert "delta changed from the default to 0.5" in capsys.readouterr().err
    table.write_text("a,b,kind\n" + ROWS.replace("3", "4"))
    assert stream(table, model, "--resume") == 1
    assert (
        "does not begin with; if its rows are all new, add --append"
        in capsys.readouterr().err
    )


def test_a_file_of_a_later_version_is_refused(table, folder, capsys):
    model = folder / "model"
    assert stream(table, model) == 0
    members = members_of(model)
    remedy = "; this is skconftree 0.1.0; pip install skconftree==99.1\n"
    for version, format, words in [
        ("99.1", _model_file.FORMAT, f"was written by skconftree 99.1{remedy}"),
        ("99.1", _model_file.FORMAT + 1, f"was written by skconftree 99.1{remedy}"),
        ("0.1.0", _model_file.FORMAT - 1, "It was written by skconftree 0.1.0; this"),
        ("99.1; ls", _model_file.FORMAT + 1, "this is skconftree 0.1.0\n"),
    ]:
        head = json.loads(members["head"].tobytes())
        head |= {"version": version, "format": format}
        changed = members | {"head": np.frombuffer(json.dumps(head).encode(), np.uint8)}
        rewritten(model, lambda state, members: None, changed)
        assert stream(table, model, "--resume") == 1
        err = capsys.readouterr().err
        assert words.replace("0.1.0", skconftree.__version__) in err


def damage(state, random):
    """Change one value of a state into another, which fits or does not."""
    places = []

    def walk(value):
        for key in range(len(value)) if isinstance(value, list) else value:
            places.append((value, key))
            if isinstance(value[key], list | dict):
                walk(value[key])

    walk(state)
    holder, key = places[random.integers(len(places))]
    others = (None, True, -1, 0, 2**70, 0.5, "", "a", [], {}, {"float": "nan"})
    others += ({"array": 0}, {"array": 10**9}, {"dict": []}, {"tuple": []})
    others += ({"class": "skconftree.bounds.CredibleBound", "with": {"delta": -1}},)
    holder[key] = others[random.integers(len(others))]


PARTS = 2  # that may run side by side


@pytest.mark.parametrize("part", range(PARTS))
def test_a_corrupt_file_is_rejected_or_valid(table, folder, capsys, part):
    """By chance, or by somebody who knows the format and mends the checksum."""
    model, original = folder / "model", folder / "original"
    settings = ["--bound", "credible", "--set", "drift=ddm", "--nominal", "b"]
    assert stream(table, original, *settings, "--delay", "9") == 0
    whole, members_before = original.read_bytes(), members_of(original)
    n_files = int(os.environ.get("SKCONFTREE_DAMAGED_FILES", "60"))
    first = int(os.environ.get("SKCONFTREE_FIRST_FILE", "0"))
    outcomes = Counter()
    seeds = range(first + part, first + n_files, PARTS)
    for seed in seeds:
        random = np.random.default_rng(seed)
        data = bytearray(whole)
        if seed % 3 == 0:
            for place in random.integers(len(data), size=random.integers(1, 9)):
                data[place] = random.integers(256)
        elif seed % 3 == 1:
            del data[random.integers(len(data)) :]
        # Written over, some file systems would have a file on the disk at once.
        model.unlink(missing_ok=True)
        if seed % 3 != 2:
            model.write_bytes(data)
        else:

            def change(state, members, random=random):
                if random.random() < 0.6:
                    damage(state, random)
                    return
                name = [one for one in members if one.startswith("array")]
                name = name[random.integers(len(name))]
                array = members[name].copy()
                data = array.view(np.uint8).reshape(-1)
                if len(data):
                    data[random.integers(len(data))] = random.integers(256)
                members[name] = array[: random.integers(max(len(array), 1) + 1)]

            rewritten(model, change, members_before)
        try:
            found, _ = _model_file.load(model)
        except ValueError:
            outcomes["refused", seed % 3] += 1
            continue
        outcomes["sound", seed % 3] += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with contextlib.suppress(ValueError, UserError):
                found = with_columns(found, None)
                proba = found.predict_proba(np.array([[1.0, 2.0], [5.0, 0.0]]))
                assert np.isfinite(proba).all()
                export_text(found)
            with contextlib.suppress(ValueError, TypeError):
                found.partial_fit(np.array([[1.0, 2.0]]), found.classes_[:1])
    # cut off, each is refused
    assert outcomes["refused", 1] == sum(seed % 3 == 1 for seed in seeds)
    assert outcomes["refused", 2] > 0 < outcomes["sound", 2]
    assert outcomes.total() == len(seeds)


def test_what_is_no_file_is_not_written_to(table, folder, capsys):
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    for path, words in [
        (fifo, "it is not a file"),
        ("/dev/null", "it is not a file"),
        (folder, "it is a folder"),
        (folder / "nowhere" / "model", "there is no folder"),
        ("", "names no file"),
    ]:
        for more in ([], ["--resume"]):
            assert stream(table, path, *more) == 1
            assert words in capsys.readouterr().err
    assert names(folder) == ["fifo"]
    with pytest.raises(ValueError, match="cannot read .*fifo: it is not a file"):
        _model_file.load(fifo)


def test_two_runs_in_one_process_exclude_each_other(folder):
    with locked(folder / "model"):
        with (
            pytest.raises(UserError, match=f"by process {os.getpid()} on "),
            locked(folder / "model"),
        ):
            pass
        with locked(folder / "other"):
            assert names(folder) == ["model.lock", "other.lock"]
    assert names(folder) == []


def test_a_run_without_locks_leaves_the_model_alone(table, folder, monkeypatch):
    """As on systems that have no locks of files."""
    assert stream(table, folder / "one") == 0
    monkeypatch.setattr(_files, "fcntl", None)
    with locked(folder / "two"):
        assert names(folder) == ["one"]
    assert stream(table, folder / "two") == 0
    assert names(folder) == ["one", "two"]
    models = [_model_file.load(folder / name)[0] for name in ("one", "two")]
    assert pickle.dumps(models[0]) == pickle.dumps(models[1])


SAVED = [*sorted(STREAM_BOUNDS), "none"]


@pytest.mark.parametrize("bound", cases(SAVED, SAVED[::3]))
def test_every_model_can_be_written_and_gone_on_with(table, folder, bound):
    model = folder / "model"
    for n_rows in (450, 900):
        table.write_text("a,b,kind\n" + "".join(ROWS.splitlines(True)[:n_rows]))
        settings = ["--bound", bound, "--set", "drift=ddm", "--nominal", "b"]
        settings += ["--set", "class_weight={'yes': 2}", "--set", "max_features=1"]
        assert stream(table, model, "--resume", *settings) == 0


def test_a_file_of_another_checksum_is_refused(table, folder, capsys):
    model = folder / "model"
    assert stream(table, model) == 0
    members = members_of(model)
    members["array_0"] = members["array_0"][::-1]
    with open(model, "wb") as file:
        np.savez(file, **members)
    assert stream(table, model, "--resume") == 1
    assert "is corrupt: its checksum is wrong" in capsys.readouterr().err
