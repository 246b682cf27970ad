"""Detectors, learners and runs that threads change and read at once."""

import copy
import threading

from .concurrency import run_at_once, switching_often
from .failures import require
from .learner_subjects import PoolSubject, StreamSubject
from .subjects import DetectorSubject, EvaluatorSubject, SamplerSubject, copied

SUBJECTS = {
    **{DetectorSubject: 3, PoolSubject: 2, StreamSubject: 2, EvaluatorSubject: 2},
    **{SamplerSubject: 1},
}
COPIES = {
    "pickle": copied,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
BEFORE = 3  # calls, at most
MOST_LOOKS = 300


def share(sequence):
    """What threads have done is what one thread does with the same calls."""
    draw = sequence.draw
    subject = draw.weighted(SUBJECTS)(draw)
    one = subject.make()
    for _ in range(draw.whole(1, BEFORE)):
        subject.next_call(draw, one).act(one)
    plain, kept = copied(one), COPIES[draw.one(sorted(COPIES))](one)
    writers, settle = subject.work(draw, one)
    looks = subject.looks() | {
        name: lambda one, make=make: subject.check_copy(make(one))
        for name, make in COPIES.items()
    }
    names = [draw.one(sorted(looks)) for _ in range(2)]
    done = threading.Event()
    begun = threading.Barrier(len(writers) + len(names))
    left = list(writers)

    def write(acts):
        begun.wait()
        try:
            for act in acts:
                act(one)
        finally:
            left.pop()
            if not left:
                done.set()

    def look(name):
        begun.wait()
        for _ in range(MOST_LOOKS):
            looks[name](one)
            if done.is_set():
                break

    works = [lambda acts=acts: write(acts) for acts in writers]
    works += [lambda name=name: look(name) for name in names]
    with switching_often():
        sequence.call(
            f"threads: {subject.name}, {', '.join(names)}", run_at_once, works
        )
    sequence.traits.add(f"threads: {subject.name}")
    subject.check(one)
    require(
        subject.values(kept) == subject.values(plain),
        f"{subject.name}: a copy has learned what threads taught the original",
    )
    settle(plain, one)
    require(
        subject.values(one) == subject.values(plain),
        f"{subject.name}: threads have done something else than one thread",
    )
    subject.check(copied(one))
