"""How a CSV file is written, so that what answers it is written alike."""

import codecs
from typing import NamedTuple

from ._text import UserError

# Byte order marks; that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
MOST_OF_MARK = 4  # bytes


class Dialect(NamedTuple):
    """Separator of fields, sign before the decimals of numbers, and encoding.

    The encodings utf-8-sig, utf-16 and utf-32 write a byte order mark.
    """

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def number(self, value):
        """Write a number with six digits."""
        return f"{value:.6g}".replace(".", self.decimal)

    def can_encode(self, texts):
        """Whether the encoding has all letters of some texts."""
        try:
            "".join(texts).encode(self.encoding)
        except UnicodeError:
            return False
        return True


def encoding_of(name, start):
    """Encoding of a file that begins with some bytes; `name` is what a user asked for.

    A mark is heeded unless `name` contradicts it.
    """
    marked = next((one for mark, one in _MARKS if start.startswith(mark)), None)
    if name is None:
        return marked or "utf-8"
    try:
        known = codecs.lookup(name).name
        "".encode(known)  # there are codecs that are not of texts
    except (LookupError, UnicodeError):
        raise UserError(
            f"--encoding {name!r} is not known; try utf-8, latin-1, cp1252 or utf-16"
        ) from None
    if known == "utf-8" and marked == "utf-8-sig":
        return marked
    return known
