"""
From a table without labels to a tree
=====================================

Sixty labels of 569 rows, requested one after the other, make a tree that is right about
more than nine rows in ten. A session asks for them, and has each answer in a file
before it asks for the next; a forest says which rows are worth it. At the end a single
tree is fitted to the answers, to be read.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier
from skconftree.active import ActiveLearner, LabelingSession
from skconftree.tree import export_text

data = load_breast_cancer(as_frame=True)
table = data.data
truth = data.target_names[data.target]

# %%
# Here the person is an array of labels; at a terminal ``session.label()`` asks a real
# one, and ``skconftree label table.csv --labels benign,malignant`` does without Python.
# The first sitting ends after 20 answers: the process might as well be killed.

folder = tempfile.TemporaryDirectory()
answers = Path(folder.name, "answers.jsonl")
forest = ConfidenceForestClassifier(n_estimators=50, random_state=0)
learner = ActiveLearner(forest, classes=["benign", "malignant"], random_state=0)
session = LabelingSession(learner, answers, table, budget=60, annotator="anna")

right = {}


def answer(session, n):
    """Answer some questions, and note how the forest does."""
    for _ in range(n):
        question = session.question()
        session.answer(str(truth[question.row]))
        predicted, _ = session.predictions()
        if predicted is not None:  # rows of two classes are labeled
            right[session.progress().n_answers] = (predicted == truth).mean()


answer(session, 20)
session.close()

# %%
# The next one needs the file and the rows, and goes on with the question that would
# have come next. A slip is relabeled, and what came after it stays.

session = LabelingSession.resume(answers, table, annotator="anna")
question = session.question()
print(question.row, question.guess, f"{question.probability:.2f}")
print(*session.why(), sep="\n")
answer(session, 40)
slip = session.answers()[10]["row"]
session.relabel(slip, "malignant" if truth[slip] == "benign" else "benign")
session.undo()
print(session.progress())
print(session.forecast())

# %%
# What the file has of it: a head, and a line an answer.

print(answers.read_text().splitlines()[1])
session.export(Path(folder.name, "labels.csv"))
print(pd.read_csv(Path(folder.name, "labels.csv")).iloc[:4, -8:].to_string())

# %%
# How many rows of the table are predicted rightly, after each answer.

plt.plot(list(right), [100 * one for one in right.values()])
plt.xlabel("labels")
plt.ylabel("rows predicted rightly, %")
plt.show()

# %%
# A tree of the 60 labels, for people.

rows = [one["row"] for one in session.answers()]
labels = [one["label"] for one in session.answers()]
session.close()
tree = ConfidenceTreeClassifier().fit(table.iloc[rows], labels)
print(export_text(tree))
print(f"{100 * tree.score(table, truth):.0f} % of all rows")
folder.cleanup()
