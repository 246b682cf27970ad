"""The file of a model is whole at any time, one run's alone, and checked before use.

A checkpoint is what a long run leaves: a full disk, a second run, a link in its place
or a stranger's file must not cost it, nor lead to other files.
"""

import contextlib
import io
import json
import os
import pickle
import resource
import signal
import stat
import subprocess
import sys

import pytest

from skconftree._cli import _checkpoint, main
from skconftree._cli._checkpoint import ModelFile
from skconftree._cli._common import UserError
from skconftree.bounds._registry import BOUNDS

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


def test_files_beside_the_model_are_left_alone(table, folder, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    (folder / "model.tmp").symlink_to(precious)
    assert stream(table, folder / "model") == 0
    assert precious.read_text() == "keep me"
    assert names(folder) == ["model", "model.tmp"]
    assert not (folder / "model").is_symlink()


def test_a_model_behind_a_link_is_replaced_where_it_is(table, folder, tmp_path):
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
from skconftree._cli._checkpoint import ModelFile
with ModelFile(sys.argv[1]) as file:
    file.save(1, {"rows": 0})
    print("held", flush=True)
    time.sleep(100)
"""


@contextlib.contextmanager
def holder(model):
    run = subprocess.Popen(
        [sys.executable, "-P", "-c", HOLD, str(model)], stdout=subprocess.PIPE
    )
    try:
        assert run.stdout.readline() == b"held\n"
        yield run
    finally:
        run.kill()
        run.wait()
        run.stdout.close()


def test_a_second_run_is_told_who_has_the_model(table, folder, tmp_path, capsys):
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


def test_a_killed_run_blocks_nobody_and_its_scratch_goes(table, folder):
    model = folder / "model"
    with holder(model) as run:
        run.send_signal(signal.SIGKILL)
        run.wait()
    owner = json.loads((folder / "model.lock").read_text())
    assert owner["pid"] == run.pid
    (folder / owner["scratch"]).write_text("half a model")
    model.unlink()
    assert stream(table, model) == 0
    assert names(folder) == ["model"]


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
    # nor does a lock say which file of the user is to go
    (folder / "kept").write_text("")
    owner = {"program": "skconftree stream", "scratch": "kept"}
    lock.write_text(json.dumps(owner))
    assert stream(table, model) == 0
    assert names(folder) == ["kept", "model"]


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


class Program:
    """Runs when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_program_in_the_place_of_a_model_does_not_run(table, folder, capsys):
    model, ran = folder / "model", folder / "ran"
    assert stream(table, model) == 0
    good, progress = _checkpoint.load(model)
    with open(model, "wb") as file:
        pickle.dump(Program(ran), file)
        pickle.dump(progress, file)
    assert stream(table, model, "--resume") == 1
    assert "is not a model that" in capsys.readouterr().err
    for parts in [(Program(ran), progress), (good, {**progress, "run": Program(ran)})]:
        _checkpoint.save(model, *parts)
        assert stream(table, model, "--resume") == 1
        assert "it asks for posix.mkdir" in capsys.readouterr().err
    assert names(folder) == ["model"]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("skconftree._cli", "main"),
        ("skconftree.datasets", "fetch_table"),
        ("skconftree.tree._classes", "np.save"),
        ("numpy", "save"),
        ("builtins", "eval"),
    ],
)
def test_a_model_calls_nothing_but_what_models_are_made_of(module, name):
    texts = "".join(f"\x8c{chr(len(one))}{one}" for one in (module, name))
    code = io.BytesIO(f"\x80\x05{texts}\x93.".encode("latin-1"))
    with pytest.raises(pickle.UnpicklingError, match=f"asks for {module}.{name}"):
        _checkpoint._Unpickler(code).load()


def test_nothing_is_unpickled_before_all_is_checked(table, folder, monkeypatch, capsys):
    model = folder / "model"
    assert stream(table, model) == 0
    whole = model.read_bytes()

    def unpickling(*args):
        raise AssertionError("unpickled")

    monkeypatch.setattr(_checkpoint, "_Unpickler", unpickling)
    for place in (5, len(whole) // 2):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        model.write_bytes(damaged)
        assert stream(table, model, "--resume") == 1
        assert "damaged" in capsys.readouterr().err
    model.write_bytes(whole[:-1])
    assert stream(table, model, "--resume") == 1
    assert "is not a model that" in capsys.readouterr().err
    model.write_bytes(whole)
    assert stream(table, model, "--resume", "--delta", "0.5") == 1
    assert "its settings differ" in capsys.readouterr().err
    table.write_text("a,b,kind\n" + ROWS.replace("3", "4"))
    assert stream(table, model, "--resume") == 1
    assert "are not those that it has learnt" in capsys.readouterr().err


def test_the_model_of_another_user_is_not_gone_on_with(
    table, folder, monkeypatch, capsys
):
    model = folder / "model"
    assert stream(table, model) == 0
    if os.geteuid() == 0:
        os.chown(model, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert stream(table, model, "--resume") == 1
    assert "belongs to another user" in capsys.readouterr().err


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


def test_two_runs_in_one_process_exclude_each_other(folder):
    with ModelFile(folder / "model"):
        with pytest.raises(UserError, match=f"by process {os.getpid()} on "):
            ModelFile(folder / "model").__enter__()
        with ModelFile(folder / "other"):
            assert names(folder) == ["model.lock", "other.lock"]
    assert names(folder) == []


@pytest.mark.parametrize("bound", [*sorted(BOUNDS), "none"])
def test_every_model_is_made_of_what_may_be_unpickled(table, folder, bound):
    model = folder / "model"
    for n_rows in (450, 900):
        table.write_text("a,b,kind\n" + "".join(ROWS.splitlines(True)[:n_rows]))
        settings = ["--bound", bound, "--set", "drift=ddm", "--nominal", "b"]
        settings += ["--set", "class_weight={'yes': 2}", "--set", "max_features=1"]
        assert stream(table, model, "--resume", *settings) == 0
