"""What a session has found out, for other programs."""

import csv
import io
import json


def as_csv(session):
    """A line a row: its values, label, who gave it, all opinions, prediction."""
    told = {one["row"]: one for one in session.answers()}
    kappas = _kappas(session)
    classes = session.learner.classes_.tolist()
    predicted, proba = session.predictions()
    labels = session.learner.y_
    start = set(session._record.journal.head["start"]["rows"])
    columns = list(session._shown.values(0))
    with_proba = proba is not None and proba.shape[1] == len(classes)
    header = ["row", "label", "annotator", "at", "opinions", "kappa", "predicted"]
    header[1:1] = [
        f"{name} (of the table)" if name in header else name for name in columns
    ]
    if with_proba:
        header += [f"probability of {one}" for one in classes]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    for row in range(len(labels)):
        one = told.get(row)
        if one is None:
            known = row in start
            one = {
                "label": labels[row] if known else None,
                "annotator": "the table" if known else None,
                "at": None,
                "opinions": [],
            }
        line = [row, *session._shown.values(row).values()]
        told_by = (one[name] for name in ("label", "annotator", "at"))
        line += ["" if value is None else value for value in told_by]
        line.append("; ".join(f"{by or ''}: {label}" for by, label in one["opinions"]))
        line.append(_kappa_of(one["opinions"], kappas))
        line.append("" if predicted is None else predicted[row])
        if with_proba:
            line += [f"{share:.6g}" for share in proba[row]]
        writer.writerow(line)
    return file.getvalue()


def as_tasks(session):
    """Tasks of Label Studio, for a choice named `label` of a text or table."""
    told = {one["row"]: one for one in session.answers()}
    kappas = _kappas(session)
    predicted, proba = session.predictions()
    start = session.learner.y_
    known = set(session._record.journal.head["start"]["rows"])
    tasks = []
    for row in range(len(start)):
        one = told.get(row)
        opinions = [] if one is None else one["opinions"]
        if one is None and row in known:
            opinions = [("the table", start[row])]
        task = {
            "data": {"row": row, **session._shown.values(row)},
            "annotations": [_annotation(label, by) for by, label in opinions],
        }
        kappa = _kappa_of(opinions, kappas)
        if kappa != "":
            task["meta"] = {"kappa": kappa}
        if predicted is not None:
            task["predictions"] = [{"result": [_choice(predicted[row])]}]
            if proba is not None:
                task["predictions"][0]["score"] = float(proba[row].max())
        tasks.append(task)
    return json.dumps(tasks, indent=1, ensure_ascii=False) + "\n"


FORMATS = {"csv": as_csv, "label_studio": as_tasks}


def _kappas(session):
    return {frozenset(one["annotators"]): one["kappa"] for one in session.agreement()}


def _kappa_of(opinions, kappas):
    # Of the two who gave the first two opinions of a row.
    if len(opinions) < 2:
        return ""
    kappa = kappas.get(frozenset(by for by, _ in opinions[:2]))
    return "" if kappa is None else round(kappa, 6)


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
