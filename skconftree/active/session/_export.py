"""Export of a labeling session to CSV or Label Studio.

*Opinions* are the labels of one row by several annotators. The *pool* is the table of
unlabeled and labeled rows.
"""

import csv
import io
import json


def _rows(session):
    """Yield per row: its `answers()` entry, kappa, prediction and probabilities.

    `kappa` is Cohen's kappa of the annotators of its first two labels, or "".
    """
    answers = {answer["row"]: answer for answer in session.answers()}
    kappas = {
        frozenset(pair["annotators"]): pair["kappa"] for pair in session.agreement()
    }
    predicted, proba = session.predictions()
    labels = session.learner.y_
    initial = set(session._record.view.start.rows.tolist())
    suggested, source = [None] * len(labels), None
    if session._record.suggestions:  # labels of a source that a person checks
        delivered = session.delivered_labels()
        suggested, source = delivered.labels.tolist(), delivered.source
    unlabeled = {"label": None, "annotator": None, "at": None, "opinions": []}
    for row, label in enumerate(labels):
        answer = answers.get(row, unlabeled)
        if row in initial and row not in answers:
            answer = unlabeled | {"label": label, "annotator": "the table"}
        elif row not in answers and suggested[row] is not None:
            answer = unlabeled | {"label": suggested[row], "annotator": source}
        annotators = frozenset(by for by, _ in answer["opinions"][:2])
        kappa = kappas.get(annotators) if len(answer["opinions"]) > 1 else None
        yield (
            answer,
            "" if kappa is None else round(kappa, 6),
            None if predicted is None else predicted[row],
            None if proba is None else proba[row],
        )


def as_csv(session):
    """Format the pool as CSV: values, label, annotator, opinions and prediction."""
    classes = session.learner.classes_.tolist()
    rows = list(_rows(session))
    with_proba = all(
        proba is not None and len(proba) == len(classes) for *_, proba in rows
    )
    header = ["row", "label", "annotator", "at", "opinions", "kappa", "predicted"]
    header[1:1] = [
        f"{name} (of the table)" if name in header else name
        for name in session._shown.values(0)
    ]
    if with_proba:
        header += [f"probability of {label}" for label in classes]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for row, (answer, kappa, predicted, proba) in enumerate(rows):
        line = [row, *session._shown.values(row).values()]
        line += [answer[name] for name in ("label", "annotator", "at")]
        opinions = (f"{by or ''}: {label}" for by, label in answer["opinions"])
        line += ["; ".join(opinions), kappa, predicted]
        if with_proba:
            line += [f"{share:.6g}" for share in proba]
        writer.writerow(line)  # None is written as an empty field
    return file.getvalue()


def as_tasks(session):
    """Format the pool as tasks of Label Studio, with a choice named `label`."""
    tasks = []
    for row, (answer, kappa, predicted, proba) in enumerate(_rows(session)):
        opinions = answer["opinions"]
        if not opinions and answer["label"] is not None:
            opinions = [(answer["annotator"], answer["label"])]
        task = {
            "data": {"row": row, **session._shown.values(row)},
            "annotations": [_annotation(label, by) for by, label in opinions],
        }
        if kappa != "":
            task["meta"] = {"kappa": kappa}
        if predicted is not None:
            task["predictions"] = [{"result": [_choice(predicted)]}]
            if proba is not None:
                task["predictions"][0]["score"] = float(proba.max())
        tasks.append(task)
    return json.dumps(tasks, indent=1, ensure_ascii=False) + "\n"


FORMATS = {"csv": as_csv, "label_studio": as_tasks}


def _choice(label):
    return {
        "from_name": "label",
        "to_name": "row",
        "type": "choices",
        "value": {"choices": [str(label)]},
    }


def _annotation(label, by):
    choice = _choice(label)
    return {"result": [choice | ({"meta": {"annotator": by}} if by else {})]}
