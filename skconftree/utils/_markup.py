"""Escaping of text for HTML and SVG."""

import html
import re

# Characters that XML 1.0 (section 2.2) forbids, even as character references. A file
# that contains one cannot be read. Lone surrogates are included.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text):
    """Escape text for HTML and XML; characters that XML 1.0 forbids become U+FFFD."""
    return html.escape(_NOT_XML.sub("\ufffd", text))
