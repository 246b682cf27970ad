"""Delays of change detectors, and their drifts without a change.

Two are of this package, beside river's; the others are river's alone.

Errors are independent, with a rate that rises after 2,000 rows, at once or over 1,000
rows; the delay is the median number of rows until the first drift after that, of those
runs that have one within 5,000 rows. False alarms are drifts in 100 streams of
10,000 rows whose rate stays. Nanoseconds a row are CPU time of one call for all rows,
river's of a loop. The stored tables have HDDM-A, HDDM-W, KSWIN and Page-Hinkley as this
package once had them.

    python benchmarks detectors
"""

import time

import numpy as np
from common import options as command
from river import drift

from skconftree.drift import ADWIN, DDM, BaseDetector, DriftState

DETECTORS = {
    "DDM": DDM(),
    "DDM, min_errors=10": DDM(min_errors=10),
    "ADWIN": ADWIN(),
    "HDDM-A": drift.binary.HDDMA(),
    "HDDM-W": drift.binary.HDDMW(),
    "KSWIN": drift.KSWIN(seed=0),
    "Page-Hinkley": drift.PageHinkley(),
}
RIVER = {"DDM": drift.binary.DDM(), "ADWIN": drift.ADWIN()}  # beside ours
RISES = ((0.1, 0.2, 1), (0.1, 0.5, 1), (0.01, 0.1, 1), (0.1, 0.5, 1000))
RATES = (0.01, 0.1, 0.4)
BEFORE, AFTER, QUIET = 2_000, 5_000, 10_000


def detectors(quick):
    """Return the detectors by name; KSWIN, 1 ms per row, not in a quick run."""
    slow = {"KSWIN"} if quick else set()
    return {name: one for name, one in DETECTORS.items() if name not in slow}


def drifts(detector, errors):
    """Rows at which a fresh detector reports a drift."""
    if isinstance(detector, BaseDetector):
        states = detector.reset().update_many(errors)
        return np.flatnonzero(states == DriftState.DRIFT)
    detector, found = detector.clone(), []
    for row, error in enumerate(errors.astype(int).tolist()):
        detector.update(error)
        if detector.drift_detected:
            found.append(row)
    return np.array(found, dtype=int)


def delay(detector, low, high, width, runs):
    """Median rows until a rise is told, and how many runs did not tell."""
    rates = low + (high - low) * np.clip(np.arange(1, AFTER + 1) / width, 0, 1)
    rates = np.r_[np.full(BEFORE, low), rates]
    found, missed = [], 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        after = drifts(detector, rng.random(len(rates)) < rates) - BEFORE
        after = after[after >= 0]
        if len(after):
            found.append(after[0])
        else:
            missed += 1
    median = f"{np.median(found):.0f}" if found else "-"
    return median if not missed else f"{median} ({100 * missed / runs:.0f} % missed)"


def nanoseconds(call, losses):
    """CPU time of a row."""
    start = time.process_time()
    call(losses)
    return 1e9 * (time.process_time() - start) / len(losses)


def river_nanoseconds(peer, losses):
    """CPU time of a row, of a detector that takes them one by one."""
    return nanoseconds(lambda rows: [*map(peer.update, rows)], losses[:5_000].tolist())


def main(argv=None):
    """Run the study and print its tables."""
    parser = command.parser(__doc__, "quick")
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args(argv)
    runs, streams = (3, 2) if options.quick else (options.runs, 100)
    tables = command.tables("detectors", options, f"{runs} runs")
    rng = np.random.default_rng(0)
    quiet = [rng.random((streams, QUIET)) < rate for rate in RATES]
    losses = quiet[1].astype(float).ravel()
    found, alarms = [], []
    for name, detector in detectors(options.quick).items():
        found.append([name, *(delay(detector, *rise, runs) for rise in RISES)])
        row = [sum(len(drifts(detector, one)) for one in each) for each in quiet]
        is_ours = isinstance(detector, BaseDetector)
        ours = nanoseconds(detector.kernel().update_many, losses) if is_ours else None
        row.append("-" if ours is None else f"{ours:.0f}")
        peer = RIVER.get(name) if is_ours else detector
        row.append(f"{river_nanoseconds(peer.clone(), losses):,.0f}" if peer else "-")
        alarms.append([name, *row])
    header = ["detector"]
    header += [
        f"{low:.0%} to {high:.0%}" + (f" in {width:,} rows" if width > 1 else "")
        for low, high, width in RISES
    ]
    tables.show("detectors-delay", header, found)
    header = ["detector", *(f"{rate:.0%} errors" for rate in RATES)]
    tables.show("detectors-alarms", [*header, "ns a row", "river, ns a row"], alarms)
