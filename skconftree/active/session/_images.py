"""Pictures of one folder, by the paths in a table."""

import os
import stat

# None of them can hold a program, as SVG can.
TYPES = {
    ".avif": "image/avif",
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
MOST_BYTES = 50_000_000


class Images:
    """A folder out of which no path leads, by dots, by links or from the root."""

    def __init__(self, folder):
        self.folder = os.path.realpath(os.fspath(folder))
        if not os.path.isdir(self.folder):
            raise ValueError(f"images must be a folder. Got {os.fspath(folder)!r}.")

    def find(self, path):
        """Say where a picture really is; None if it is none, or not in the folder."""
        if _ending(path) not in TYPES:
            return None
        try:
            place = os.path.realpath(os.path.join(self.folder, path))
            inside = os.path.commonpath([self.folder, place]) == self.folder
            found = os.stat(place) if inside else None
        except (OSError, ValueError):  # no such file, a zero in the name, another drive
            return None
        if found is None or not stat.S_ISREG(found.st_mode):
            return None
        # what a link that ends with .png leads to is no picture by that
        fits = _ending(place) in TYPES and found.st_size <= MOST_BYTES
        return place if fits else None

    def read(self, path):
        """Give the type and the content of a picture, or None."""
        place = self.find(path)
        if place is None:
            return None
        with open(place, "rb") as file:
            return TYPES[_ending(place)], file.read(MOST_BYTES)


def _ending(path):
    return os.path.splitext(path)[1].lower()
