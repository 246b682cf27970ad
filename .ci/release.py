"""Refuse a release whose files do not agree: `python .ci/release.py v0.1.0`."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def text(name):
    """Read a file of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def told(pattern, name):
    """Find what a file says, or None."""
    found = re.search(pattern, text(name), re.MULTILINE)
    return found and found[1]


def versions():
    """Tell the version that each file names."""
    return {
        "meson.build": told(r"^  version: '([^']+)'", "meson.build"),
        "CITATION.cff": told(r"^version: (\S+)$", "CITATION.cff"),
        "CHANGELOG.md": told(r"^## (\S+)", "CHANGELOG.md"),
        "conda/recipe.yaml": told(
            r"^  version: \"?([^\"\n]+)\"?$", "conda/recipe.yaml"
        ),
    }


def complaints(tag):
    """Say what keeps this tag from being released."""
    wrong = [
        f"{name} says {version}, the tag {tag}"
        for name, version in versions().items()
        if f"v{version}" != tag
    ]
    if not told(r"^## \S+ \((\d{4}-\d\d-\d\d)\)$", "CHANGELOG.md"):
        wrong.append("CHANGELOG.md has no date for its newest version")
    if not told(r"^date-released: \"?(\d{4}-\d\d-\d\d)\"?$", "CITATION.cff"):
        wrong.append("CITATION.cff has no date-released")
    urls = tomllib.loads(text("pyproject.toml"))["project"]["urls"]
    wrong += [
        f"pyproject.toml: {name} is the placeholder {url}"
        for name, url in urls.items()
        if ".invalid" in url
    ]
    return wrong


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit("\n".join(complaints(sys.argv[1])) or None)
