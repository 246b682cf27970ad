"""Learn the messages of a log, and continue after any interruption."""

import json
import os
import pickle
import sys

from skconftree import ConfidenceTreeClassifier
from skconftree.evaluation import OneByOne

log, state = sys.argv[1:]
offset, model = 0, OneByOne(ConfidenceTreeClassifier(), classes=["A", "B"])
if os.path.exists(state):
    with open(state, "rb") as file:
        offset, model = pickle.load(file)
with open(log) as messages:  # the client of a queue would start at the offset
    for number, message in enumerate(messages, start=1):
        if number > offset:
            x = json.loads(message)
            model.learn_one(x, x.pop("label"))
        if number % 100 == 0 and number > offset:
            with open(f"{state}.part", "wb") as file:
                pickle.dump((number, model), file)
            os.replace(f"{state}.part", state)
            print(number, flush=True)
