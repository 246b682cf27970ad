"""Fits of a Parquet file in little memory, beside the same fits in memory.

    python benchmarks large [--rows 5000000] [--columns 20] [--folder FOLDER]
    python benchmarks large --cluster [--limit 1024] [--alone] [--model tree]

``large-fit``: the default tree and a forest of 10, with 255 bins. Each fit is a process
of its own. That of the file has a limit of private memory (RLIMIT_DATA), beyond what
the imported libraries take, which the system enforces: taking more is an error. Peaks
are of resident memory, beyond what there was before. CPU seconds include reading the
file. The last column says whether the two models are the same bytes.

``large-cluster-50-million``, or how many there are: the same fits of a Dask DataFrame
on two workers, processes of this machine whose private memory has a limit
(RLIMIT_DATA), all that they import included. CPU seconds are those of the driver and
the workers, the peak is that of the worker that took most. ``--alone``: where the table
does not fit into memory, and there is nothing to compare with.
"""

import hashlib
import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from common import options as command

from skconftree import ConfidenceForestClassifier, ConfidenceTreeClassifier

CHUNK, GROUP = 500_000, 250_000  # rows made at a time, and those of a row group
LEAST = 200  # megabytes of a fit that do not depend on the table
WORKERS, LIMIT = 2, 1024  # and megabytes of one
A_CELL, A_ROW = {"tree": 1.0, "forest of 10": 2.2}, {"tree": 30, "forest of 10": 75}


def make_models():
    """Models by their names."""
    return {
        "tree": ConfidenceTreeClassifier(max_bins=255),
        "forest of 10": ConfidenceForestClassifier(10, max_bins=255, random_state=0),
    }


def write_rows(path, n, d):
    """Write a table of numbers, whose noisy classes come of four of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"x{j}" for j in range(d)]
    schema = pa.schema([(name, pa.float32()) for name in names] + [("y", pa.int8())])
    plain = {"compression": "none", "use_dictionary": False}  # values differ
    with pq.ParquetWriter(path, schema, **plain) as writer:
        for start in range(0, n, CHUNK):
            rng = np.random.default_rng([start, 0])
            size = min(CHUNK, n - start)
            X = rng.normal(size=(size, d)).astype(np.float32)
            y = X[:, 0] + X[:, 1] + 0.5 * X[:, 2] * X[:, 3] > 0.0
            y = (y ^ (rng.random(size) < 0.1)).astype(np.int8)
            columns = [pa.array(X[:, j]) for j in range(d)]
            table = pa.table([*columns, pa.array(y)], schema=schema)
            writer.write_table(table, row_group_size=GROUP)


def fit_here(path, name, limit):
    """Fit in this process, in parts if there is a limit in megabytes; print figures."""
    import pyarrow.parquet as pq

    from skconftree import large

    model = make_models()[name]
    before = status("VmData")
    if limit:
        most = int((before + limit) * 2**20)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    base, start, cpu = status("VmHWM"), time.perf_counter(), time.process_time()
    if limit:
        large.fit(model, path, target="y")
    else:
        table = pq.read_table(path)
        y = np.asarray(table["y"])
        table = table.drop_columns("y")
        # column by column: the whole once, in float32
        X = np.empty(table.shape, np.float32)
        for j, column in enumerate(table.columns):
            X[:, j] = column
        del table
        model.fit(X, y)
    figures = {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - start,
        "peak": status("VmHWM") - base,
        "nodes": hashlib.sha256(nodes_of(model)).hexdigest(),
    }
    print(json.dumps(figures))


def fit_on_workers(path, name, limit):
    """Fit on two workers that may have so many megabytes; print figures."""
    import dask
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from skconftree import large

    model = make_models()[name]
    # the system has a limit; Dask need not pause or write to disk before
    thresholds = ("target", "spill", "pause", "terminate")
    dask.config.set({f"distributed.worker.memory.{one}": False for one in thresholds})
    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            memory_limit=None,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(WORKERS, timeout=300)
        client.run(limit_memory, limit)
        base, start = status("VmHWM"), time.perf_counter()
        cpu = -time.process_time() - sum(client.run(time.process_time).values())
        frame = dd.read_parquet(path, split_row_groups=1)
        large.fit(model, frame, target="y")
        cpu += time.process_time() + sum(client.run(time.process_time).values())
        figures = {
            "cpu": cpu,
            "wall": time.perf_counter() - start,
            "peak": status("VmHWM") - base,
            "worker": max(client.run(status, "VmHWM").values()),
            "nodes": hashlib.sha256(nodes_of(model)).hexdigest(),
        }
    print(json.dumps(figures))


def limit_memory(limit):
    """Let the system refuse this process more megabytes of private memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (limit * 2**20, limit * 2**20))


def nodes_of(model):
    """Bytes of trees, evidence included; names of columns are no part of them."""
    trees = getattr(model, "estimators_", [model])
    return pickle.dumps([pickle.dumps(tree.tree_) for tree in trees])


def status(what):
    """A figure of this process in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = (line.split()[1] for line in lines if line.startswith(what))
    return int(found) / 1024.0


def run(path, name, limit, *more):
    """Fit in a process of its own."""
    call = [sys.executable, "-P", "benchmarks", "large", "--only", name, *more]
    call += ["--file", str(path), "--limit", str(limit)]
    done = subprocess.run(
        call,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        # its own allocator takes memory in advance
        env=os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"},
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def file_rows(n, d, folder):
    """Rows of the table for a file and a table in memory, and print them."""
    rows = []
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made) / "rows.parquet"
        write_rows(path, n, d)
        for name in make_models():
            limit = int(LEAST + n * (d * A_CELL[name] + A_ROW[name]) / 2**20)
            parted, whole = run(path, name, limit), run(path, name, 0)
            same = "yes" if parted["nodes"] == whole["nodes"] else "NO"
            for way, most, one in (
                ("in memory", "-", whole),
                ("file", limit, parted),
            ):
                row = [name, way, most, f"{one['peak']:.0f}", f"{one['cpu']:.0f}"]
                rows.append([*row, f"{one['cpu'] / whole['cpu']:.2f}", same])
                print(*rows[-1], f"wall {one['wall']:.0f}", sep=" | ", flush=True)
    return rows


def compare_cluster(tables, n, d, options):
    """Fit on workers and in memory, and show the table."""
    limit, rows = options.limit or LIMIT, []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "rows.parquet"
        write_rows(path, n, d)
        for name in [options.model] if options.model else make_models():
            ways = {"two workers": run(path, name, limit, "--cluster")}
            if not options.alone:
                ways = {"in memory": run(path, name, 0)} | ways
            rows += cluster_rows(name, ways)
    header = ["model", "rows are", "peak of a worker, MB", "peak here, MB", "CPU s"]
    header += ["over in memory", "elapsed over in memory", "same bytes"]
    tables.show(f"large-cluster-{n // 1_000_000}-million", header, rows)


def cluster_rows(name, ways):
    """Rows of the table for the ways in which a model was fitted, and print them."""
    rows, whole = [], ways.get("in memory")
    for way, one in ways.items():
        worker = f"{one['worker']:.0f}" if "worker" in one else "-"
        row = [name, way, worker, f"{one['peak']:.0f}", f"{one['cpu']:.0f}"]
        if whole is None:
            row += ["-", "-", "-"]
        else:
            row += [f"{one[what] / whole[what]:.2f}" for what in ("cpu", "wall")]
            row.append("yes" if one["nodes"] == whole["nodes"] else "NO")
        print(*row, f"wall {one['wall']:.0f}", sep=" | ", flush=True)
        rows.append(row)
    return rows


def main(argv=None):
    """Write the file, fit both models in both ways, and show the table."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--folder", help="where the file of rows is kept meanwhile")
    parser.add_argument("--only", help="fit this model here")
    parser.add_argument("--file", help="to this file")
    parser.add_argument("--limit", type=int, default=0, help="in so many megabytes")
    parser.add_argument("--cluster", action="store_true", help="fit on two workers")
    parser.add_argument("--alone", action="store_true", help="and not in memory")
    parser.add_argument("--model", choices=list(make_models()), help="this one alone")
    options = parser.parse_args(argv)
    if options.only is not None:
        fit = fit_on_workers if options.cluster else fit_here
        fit(options.file, options.only, options.limit)
        return
    n, d = (100_000 if options.quick else options.rows), options.columns
    given = f"--rows {n} --columns {d}"
    if options.cluster:
        given = f"--cluster --limit {options.limit or LIMIT} {given}"
        given += " --alone" if options.alone else ""
        given += f" --model {options.model!r}" if options.model else ""
    tables = command.tables("large", options, given)
    if options.cluster:
        compare_cluster(tables, n, d, options)
        return
    rows = file_rows(n, d, options.folder)
    header = ["model", "rows from", "limit, MB", "peak, MB", "CPU s"]
    tables.show("large-fit", [*header, "over in memory", "same bytes"], rows)
