"""
Active learning: 60 labels for a table of 569 rows
==================================================

With 60 labels, requested one after the other, the tree classifies more than nine rows
in ten correctly. A session saves each label before it requests the next one, and a
forest selects the rows. At the end a single tree is fitted to the labels.
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
# Here an array of labels replaces the annotator. At a terminal, ``session.label()``
# asks a person, and ``skconftree label table.csv --labels benign,malignant`` needs no
# Python. The first session ends after 20 labels, as if the process had been killed.

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
# The next session needs the file and the rows, and continues with the question that
# would have come next. A wrong label is corrected; later labels are kept.

session = LabelingSession.resume(answers, table, annotator="anna")
question = session.question()
print(question.row, question.prediction, f"{question.probability:.2f}")
print(*session.why(), sep="\n")
answer(session, 40)
slip = session.answers()[10]["row"]
session.relabel(slip, "malignant" if truth[slip] == "benign" else "benign")
session.undo()
print(session.progress())
print(session.forecast())

# %%
# The file has one line with settings, then one line per label.

print(answers.read_text().splitlines()[1])
session.export(Path(folder.name, "labels.csv"))
print(pd.read_csv(Path(folder.name, "labels.csv")).iloc[:4, -8:].to_string())

# %%
# The curve shows the accuracy on the whole table after each label.

plt.plot(list(right), [100 * one for one in right.values()])
plt.xlabel("labels")
plt.ylabel("rows predicted rightly, %")
plt.show()

# %%
# The tree that is fitted to the 60 labels.

rows = [one["row"] for one in session.answers()]
labels = [one["label"] for one in session.answers()]
session.close()
tree = ConfidenceTreeClassifier().fit(table.iloc[rows], labels)
print(export_text(tree))
print(f"{100 * tree.score(table, truth):.0f} % of all rows")
folder.cleanup()
