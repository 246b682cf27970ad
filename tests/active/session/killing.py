"""Kill labeling processes at random moments, and look at what they leave behind.

Arguments: a folder, how many kills, and a seed. The last line of the output says what
happened.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from skconftree.active import ActiveLearner, LabelingSession, RiskBelow

X, y = load_iris(return_X_y=True)
BUDGET = 60
SLIP = 7  # each such answer is taken back


def session(path, batch_size):
    learner = ActiveLearner(GaussianNB(), batch_size=batch_size, random_state=0)
    rule = RiskBelow(0.01, method="audit")
    return LabelingSession(learner, path, X, budget=BUDGET, stop=rule, repeat=0.1)


def work(one, tell):
    """Answer to the end; `tell` is called with each line that is surely kept.

    What is done next depends on the journal alone, as the questions do.
    """
    while (question := one.question()) is not None:
        lines = one._record.journal.lines
        if lines and len(lines) % SLIP == 0 and "undo" not in lines[-1]:
            one.undo()
        else:
            one.answer(int(y[question.row]), question.row)
        tell(one)


def told(line):
    return {name: value for name, value in line.items() if name != "at"}


def uninterrupted(path, batch_size):
    questions = {}
    with session(path, batch_size) as one:
        questions[0] = one.question()

        def note(one):
            questions[len(one._record.journal.lines)] = one.question()

        work(one, note)
        return questions, [told(line) for line in one._record.journal.lines]


def killed_once(path, batch_size, seconds):
    """Let a process label for some time; gives the lines that it said were kept."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            with session(path, batch_size) as one:
                work(one, lambda one: os.write(write, b"x"))
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
    os.close(write)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    kept = 0
    while block := os.read(read, 65536):
        kept += len(block)
    os.close(read)
    return kept, os.WIFSIGNALED(status)


def main(folder, n_kills, seed):
    chance = random.Random(seed)
    n_killed = n_torn = n_files = 0
    for batch_size in (1, 3):
        start = time.perf_counter()
        questions, lines = uninterrupted(f"{folder}/whole{batch_size}", batch_size)
        seconds = time.perf_counter() - start
        while n_killed < (n_kills / 2 if batch_size == 1 else n_kills):
            n_files += 1
            path, done = Path(folder, f"{n_files}.jsonl"), False
            known = 0
            while not done:
                pause = chance.uniform(0, seconds / 3)
                kept, was_killed = killed_once(path, batch_size, pause)
                n_killed += was_killed
                if not path.exists() or not path.read_bytes():
                    continue
                n_torn += not path.read_bytes().endswith(b"\n")
                with session(path, batch_size) as one:
                    found = [told(line) for line in one._record.journal.lines]
                    assert found == lines[: len(found)], path
                    assert known + kept <= len(found) <= known + kept + 1, path
                    known = len(found)
                    assert one.question() == questions[known], path
                with LabelingSession.resume(path, X) as one:
                    assert one.question() == questions[known], path
                done = known == len(lines)
    print(f"{n_killed} killed, {n_files} files, {n_torn} torn")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
