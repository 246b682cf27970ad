"""
A table larger than memory
==========================

Can a table be fitted that does not fit into memory? Here a process that may take less
memory than the table has fails to load it, and fits it all the same.
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
# The table is written in pieces, two million rows of 20 numbers. Whether a machine will
# fail depends on four of them, and one answer in ten is wrong:

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
# A process of its own sets itself a limit of 130 MB, beyond what the libraries take.
# The system keeps it: whoever asks for more gets an error.

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
    words = [sys.executable, "-P", "-c", program, task, *files]
    pool = {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # others take memory in advance
    done = subprocess.run(
        words, capture_output=True, text=True, env=os.environ | pool, timeout=600
    )
    print((done.stdout or done.stderr).strip().splitlines()[-1])


# %%
# To load the table is too much:

run("load")

# %%
# To fit it is not: batches of rows are read several times, and what is kept of a number
# is the byte that says in which of 255 bins it lies. With `temp_folder` these bytes are
# in a file, and in memory as far as there is room.

run("fit")

# %%
# The tree is the one that the whole table would give in memory, byte for byte
# (:doc:`/guide/large`). It has found the four columns:

tree = joblib.load(folder / "tree.joblib")
ConfidenceTreeDisplay.from_estimator(tree)
plt.show()
