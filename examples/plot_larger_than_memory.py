"""
Out-of-core learning: a table larger than memory
================================================

A process whose memory limit is smaller than the table fails to load it, and fits it
nevertheless.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from skconftree.inspection import ConfidenceTreeDisplay

# %%
# The table is written in parts, two million rows of 20 numbers. Four of them determine
# whether a machine will fail, and one label in ten is wrong:

folder = Path(tempfile.mkdtemp())
path = folder / "machines.parquet"
names = ["heat", "load", "age", "noise", *(f"sensor {j}" for j in range(16))]
schema = pa.schema([(name, pa.float32()) for name in names] + [("fails", pa.string())])
rng = np.random.default_rng(0)
with pq.ParquetWriter(path, schema, use_dictionary=["fails"]) as writer:
    for _ in range(20):
        X = rng.normal(size=(100_000, 20)).astype(np.float32)
        fails = (X[:, 0] > 0.5) & (X[:, 1] > 0.0) | (X[:, 2] > 1.0) & (X[:, 3] < 0.0)
        fails ^= rng.random(len(X)) < 0.1
        columns = [*X.T, np.where(fails, "yes", "no")]
        writer.write_table(pa.table(columns, schema=schema))
size = path.stat().st_size / 2**20
print(f"{size:.0f} MB")

# %%
# A separate process limits its own memory to 130 MB in addition to what the libraries
# use. Larger allocations raise an error.

program = """
import resource, sys
import joblib, numpy, pyarrow.parquet
from skconftree import ConfidenceTreeClassifier, large

task, path, folder, model = sys.argv[1:]
with open("/proc/self/status") as file:
    (taken,) = (line.split()[1] for line in file if line.startswith("VmData"))
limit = int(taken) * 2**10 + 130 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
if task == "load":
    # Threads that read ahead may wait for ever where memory has run out.
    pyarrow.parquet.read_table(path, use_threads=False, pre_buffer=False)
else:
    tree = ConfidenceTreeClassifier(max_bins=255, max_leaf_nodes=8)
    joblib.dump(large.fit(tree, path, target="fails", temp_folder=folder), model)
print(f"{task}: done")
"""


def run(task):
    """Do it in a process of its own; print the last line of what it says."""
    files = path, folder, folder / "tree.joblib"
    command = [sys.executable, "-P", "-c", program, task, *files]
    pool = {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # others take memory in advance
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | pool, timeout=600
    )
    print((done.stdout or done.stderr).strip().splitlines()[-1])


# %%
# Loading the table fails:

run("load")

# %%
# Fitting it works: batches of rows are read several times, and each number is stored as
# one byte, the index of its bin among 255. With `temp_folder` these bytes are in a
# file, and in memory as far as there is room.

run("fit")

# %%
# The tree is identical to the one that is fitted to the whole table in memory
# (:doc:`/guide/large`). It has found the four columns:

tree = joblib.load(folder / "tree.joblib")
ConfidenceTreeDisplay.from_estimator(tree)
plt.show()
