"""Wide tables: the memory of the passes does not depend on the number of columns."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MEMORY = """
import resource, sys
import pandas
import pyarrow.parquet as pq
from skconftree import ConfidenceTreeClassifier, large
unit = 2**20 if sys.platform == "darwin" else 2**10
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
before, tree = peak(), ConfidenceTreeClassifier(max_bins=255)
if sys.argv[2] == "parts":
    large.fit(tree, sys.argv[1], target="label")
else:
    rows = pq.read_table(sys.argv[1]).to_pandas()
    tree.fit(rows, rows.pop("label"))
print(peak() - before)
"""


@pytest.mark.slow
def test_a_table_of_two_thousand_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 2000))
    names = [f"c{j}" for j in range(2000)]
    table = pa.table([*X.T, (X[:, 0] > 0).astype(int)], names=[*names, "label"])
    pq.write_table(table, tmp_path / "rows.parquet")

    def megabytes(way):
        argv = [sys.executable, "-P", "-c", MEMORY, str(tmp_path / "rows.parquet"), way]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        return float(done.stdout)

    in_parts = megabytes("parts")
    assert in_parts < 256
    assert in_parts < 1.2 * megabytes("memory")
