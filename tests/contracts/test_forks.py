"""After a fork, a model in use raises in the child, and idle models work."""

import sys
import textwrap

import pytest
from reference.programs import run_program

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="there is no fork on Windows"
)
PATIENCE = 60.0  # seconds; a child that waits for a lock fails, and does not hang
BEGINNING = """
    import os, signal, sys, threading
    import numpy as np
    from skconftree import *
    from sklearn.base import clone
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)

    def refuses(call, *arguments):
        try:
            call(*arguments)
        except RuntimeError as error:
            return "when the process was forked" in str(error)
        return False

    def in_child(check):
        if child := os.fork():
            assert os.waitpid(child, 0)[1] == 0
            return
        try:
            signal.alarm(30)
            check()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)

    class SlowRows:
        begun, go_on = threading.Event(), threading.Event()

        def __array__(self, *_, **__):
            self.begun.set()
            assert self.go_on.wait(30)
            return X[:100]
"""


def run(code):
    code = textwrap.dedent(BEGINNING) + textwrap.dedent(code)
    run_program(code, timeout=PATIENCE)


def test_a_fork_while_other_threads_use_models():
    run(
        """
        labels = np.array(["a", "b"])[y]
        calls = {
            "fit": lambda model: model.fit(SlowRows(), labels[:100]),
            "partial_fit": lambda model: model.partial_fit(SlowRows(), y[:100]),
            "predict": lambda model: model.predict(SlowRows()),
        }
        models = [
            ConfidenceTreeClassifier(),
            ConfidenceForestClassifier(2, random_state=0),
            OASISClassifier(random_state=0),
        ]
        for model in models:
            for name, call in calls.items():
                model.partial_fit(X[:1000], y[:1000], [0, 1])
                idle = clone(model).partial_fit(X[:500], y[:500], [0, 1])
                SlowRows.begun.clear(), SlowRows.go_on.clear()
                thread = threading.Thread(target=call, args=[model])
                thread.start()
                assert SlowRows.begun.wait(30)

                def check():
                    for _ in range(2):
                        assert refuses(model.predict, X[:5]), name
                        assert refuses(model.partial_fit, X[:5], y[:5])
                        assert refuses(model.fit, X[:500], y[:500])
                        assert refuses(model.__getstate__)
                    clone(model).fit(X[:500], y[:500]).predict(X[:5])
                    idle.partial_fit(X[:5], y[:5]).predict(X[:5])
                    assert idle.n_rows_seen_ == 505
                    # and so does a process that is forked from this one
                    in_child(lambda: (idle.predict(X[:5]), refuses(model.predict, X)))

                in_child(check)
                SlowRows.go_on.set()
                thread.join()
                model.predict(X[:5])
                if name == "fit":
                    model = clone(model)
        """
    )


def test_a_fork_in_a_handler_of_a_call_that_learns():
    """The parent goes on. In the child the call ends, and the model is refused then."""
    run(
        """
        parent, children = os.getpid(), []

        def fork(*_):
            children.append(os.fork())
            if not children[-1]:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(30)

        signal.signal(signal.SIGALRM, fork)
        for model in (
            ConfidenceTreeClassifier(grace_period=10),
            ConfidenceTreeClassifier(grace_period=10, drift="local"),
            ConfidenceTreeClassifier(grace_period=10, drift="adwin"),
            ConfidenceForestClassifier(3, random_state=0),
            ConfidenceForestClassifier(3, random_state=0, n_jobs=2),
            OASISClassifier(random_state=0, n_particles=100),
        ):
            model.partial_fit(X[:50], y[:50], [0, 1])
            for turn in range(40):
                n = len(children)
                try:
                    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-3, 2e-2))
                    model.partial_fit(X, y ^ (turn % 2))
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except RuntimeError as error:
                    assert os.getpid() != parent and "forked" in str(error)
                if os.getpid() != parent:
                    # a handler may have come before the call or after it
                    is_refused = refuses(model.predict, X[:5])
                    assert is_refused == refuses(model.partial_fit, X[:5], y[:5])
                    os._exit(7 if is_refused else 0)
                if len(children) > n:
                    status = os.waitpid(children[-1], 0)[1]
                    assert os.waitstatus_to_exitcode(status) in (0, 7)
                    if status:
                        break
            else:
                raise AssertionError("no fork while the model learned")
            model.partial_fit(X[:5], y[:5]).predict(X[:5])
        """
    )


def test_a_fork_in_a_handler_of_a_call_that_waits():
    """The child does not wait for a thread that it does not have."""
    run(
        """
        model = ConfidenceTreeClassifier().partial_fit(X, y, [0, 1])
        thread = threading.Thread(target=model.predict, args=[SlowRows()])
        thread.start()
        assert SlowRows.begun.wait(30)
        children = []
        def fork(*_):
            children.append(os.fork())
            SlowRows.go_on.set()
        signal.signal(signal.SIGALRM, fork)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        try:
            model.partial_fit(X[:5], y[:5])
        except RuntimeError as error:
            assert children == [0] and "forked" in str(error)
            assert refuses(model.predict, X[:5])
            os._exit(0)
        assert os.waitpid(children[0], 0)[1] == 0
        model.predict(X[:5])
        """
    )
