"""Failures that the fuzz tests report: a broken contract, and its location."""

import re
import traceback

PACKAGE = "skconftree"


class Finding(Exception):
    """A promise that did not hold; its name tells findings apart."""

    def __init__(self, name, text=""):
        super().__init__(f"{name}: {text}" if text else name)
        self.name = name


def require(true, name, text=""):
    if not true:
        raise Finding(name, text() if callable(text) else text)


def name_of(error):
    """Name of an unexpected exception: its type, and the last places in the package."""
    if isinstance(error, Finding):
        return error.name
    frames = [
        f"{re.sub('.*/', '', frame.filename)}:{frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
        if f"{PACKAGE}/" in frame.filename
    ]
    return f"{type(error).__name__} in {' < '.join(frames[:-3:-1]) or 'the fuzz'}"


def name_of_crash(status, said):
    """Name of the end of a process: what the sanitizer said, or the signal."""
    kind = re.search(
        r"ERROR: AddressSanitizer:? ([\w-]+)|runtime error: ([^\n]*)", said
    )
    place = re.findall(r"#\d+ 0x\w+ in __pyx_\w*?_?" + PACKAGE + r"_(\w+)", said)
    place = place or re.findall(r"#\d+ 0x\w+ in (?!__interceptor)(\w+)", said)
    where = f" in {re.sub(r'_?[0-9]+(?=[A-Za-z_])', '.', place[0])}" if place else ""
    if kind:
        what = kind[1] or re.sub(r"-?\d[\d.e+-]*", "N", kind[2])
        return f"{what}{where}"
    return (f"signal {-status}" if status < 0 else f"exit {status}") + where
