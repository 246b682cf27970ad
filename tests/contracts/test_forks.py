"""A process forks while its model is in use: the child's model is whole, and free."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="there is no fork on Windows"
)
PATIENCE = 60.0  # seconds; a child that waits for a lock fails, and does not hang
FORK = """
    import os, signal, sys, threading, time
    import numpy as np
    from skconftree import ConfidenceTreeClassifier
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 4)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)

    def in_child(model):
        signal.alarm(30)
        assert model.predict_proba(X[:2000]).shape == (2000, 2)
        n = model.tree_.counts[0].sum()
        model.partial_fit(X[:2000], y[:2000])
        assert model.tree_.counts[0].sum() == n + 2000 == model.n_rows_seen_
        return n

    def fork(model):
        child = os.fork()
        if child == 0:
            try:
                WHAT(model)
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status == 0, status
    """


def run(code, what):
    code = textwrap.dedent(FORK).replace("WHAT", what) + textwrap.dedent(code)
    subprocess.run(
        [sys.executable, "-P", "-c", code], check=True, timeout=PATIENCE, text=True
    )


def test_a_fork_while_another_thread_learns():
    """The child gets the model as it is between two rows, and its lock is free."""
    run(
        """
        found = set()
        for turn in range(12):
            model = ConfidenceTreeClassifier(bound=None, grace_period=2)
            model.partial_fit(X[:50], y[:50], classes=[0, 1])
            learner = threading.Thread(target=lambda: model.partial_fit(X, y))
            learner.start()
            time.sleep(0.004 * turn)
            fork(model)
            learner.join()
            assert model.tree_.counts[0].sum() == model.n_rows_seen_ == 60_050
        """,
        "in_child",
    )


def test_a_fork_while_another_thread_fits_or_reads():
    """A fit that ends with the fork never was; a reader that does holds nothing."""
    run(
        """
        labels = np.array(["a", "b", "c"])[np.arange(60_000) % 3]
        begun, go_on = threading.Event(), threading.Event()

        class SlowDraws(np.random.RandomState):
            def randint(self, *arguments):    # once features and classes are known
                begun.set()
                assert go_on.wait(30)
                return super().randint(*arguments)

        class SlowRows:
            def __array__(self, *_, **__):
                begun.set()
                assert go_on.wait(30)
                return X[:100]

        def check(model):
            signal.alarm(30)
            assert set(model.predict(X[:2000])) == {0, 1}
            assert list(model.classes_) == [0, 1]
            model.set_params(random_state=0).fit(X[:500], labels[:500])
            assert set(model.predict(X[:2000])) == {"a", "b", "c"}

        model = ConfidenceTreeClassifier(bound=None).fit(X[:1000], y[:1000])
        for other in (
            lambda: model.predict(SlowRows()),
            lambda: model.set_params(random_state=SlowDraws(0)).fit(X, labels),
        ):
            begun.clear(), go_on.clear()
            thread = threading.Thread(target=other)
            thread.start()
            assert begun.wait(30)
            fork(model)
            go_on.set()
            thread.join()
        assert list(model.classes_) == ["a", "b", "c"]
        """,
        "check",
    )


def test_a_fork_in_a_handler_of_the_learner():
    """The child goes on with the call, and so does the parent."""
    run(
        """
        model = ConfidenceTreeClassifier(bound=None, grace_period=2)
        model.partial_fit(X[:50], y[:50], classes=[0, 1])
        children = []
        def handler(*_):
            signal.setitimer(signal.ITIMER_REAL, 0)
            children.append(os.fork())
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        while not children:
            model.partial_fit(X, y)
        n = model.n_rows_seen_
        assert model.tree_.counts[0].sum() == n
        model.partial_fit(X[:10], y[:10])
        assert model.n_rows_seen_ == n + 10
        model.predict(X[:5])
        if children[0] == 0:
            os._exit(0)
        assert os.waitpid(children[0], 0)[1] == 0
        """,
        "in_child",
    )
