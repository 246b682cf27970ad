"""Texts as rows of bytes: words, typing errors, edit distances.

A text is a row of ASCII codes with zeros behind its end.
"""

import numpy as np

LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", dtype=np.uint8)
CONSONANTS = np.frombuffer(b"bcdfghjklmnprstvwz", dtype=np.uint8)
VOWELS = np.frombuffer(b"aeiou", dtype=np.uint8)
DIGIT = ord("0")
CHUNK = 16384  # texts whose edit distances are computed at once: they fit the cache


def make_words(rng, n_words, width, shortest=3):
    """Make words that can be spoken, of `shortest` to `width` letters."""
    words = np.empty((n_words, width), dtype=np.uint8)
    words[:, ::2] = CONSONANTS[rng.randint(len(CONSONANTS), size=words[:, ::2].shape)]
    words[:, 1::2] = VOWELS[rng.randint(len(VOWELS), size=words[:, 1::2].shape)]
    lengths = rng.randint(shortest, width + 1, size=n_words)
    words[np.arange(width) >= lengths[:, None]] = 0
    return words


def draw_words(rng, words, size):
    """Draw words, the first ones most often: a word's chance falls with its place."""
    chance = 1.0 / (10.0 + np.arange(len(words)))
    edges = np.cumsum(chance / chance.sum())
    found = np.searchsorted(edges, rng.random_sample(size))
    return words[np.minimum(found, len(words) - 1)]


def digits(numbers, width):
    """Write numbers with leading zeros."""
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (numbers[:, None] // powers % 10 + DIGIT).astype(np.uint8)


def mistype(rng, texts, chosen, fixed=False):
    """Make one typing error in each of the chosen texts, in place.

    A wrong character, two in the wrong order, one too few or one too many, but none in
    a `fixed` number. Texts have at least two characters.
    """
    rows = np.flatnonzero(chosen)
    old = texts[rows]
    width = texts.shape[1]
    length = (old > 0).sum(axis=1)
    kind = rng.randint(2 if fixed else 4, size=len(rows))
    place = (rng.random_sample(len(rows)) * (length - (kind == 1))).astype(np.intp)
    column = np.arange(width)
    here, swap = place[:, None], (kind == 1)[:, None]
    source = np.where(swap & (column == here), column + 1, column)
    source = np.where(swap & (column == here + 1), column - 1, source)
    source += (kind == 2)[:, None] & (column >= here)  # the character here goes
    source -= (kind == 3)[:, None] & (column > here)  # another comes before it
    padded = np.hstack([old, np.zeros((len(rows), 1), dtype=np.uint8)])
    new = np.take_along_axis(padded, source, axis=1)
    typed = (kind == 0) | (kind == 3)
    alphabet = LETTERS if not fixed else np.arange(DIGIT, DIGIT + 10, dtype=np.uint8)
    step = rng.randint(1, len(alphabet), size=len(rows))
    letter = (new[np.arange(len(rows)), place] - alphabet[0] + step) % len(alphabet)
    new[typed, place[typed]] = alphabet[letter[typed]]
    texts[rows] = new


def edit_similarity(left, right):
    """One minus the edit distance of texts, as a share of the longer one's length."""
    out = np.empty(len(left), dtype=np.float32)
    for start in range(0, len(left), CHUNK):
        part = slice(start, start + CHUNK)
        a, b = left[part], right[part]
        lengths = (a > 0).sum(axis=1), (b > 0).sum(axis=1)
        distance = _edit_distance(a, b, *lengths)
        out[part] = 1.0 - distance / np.maximum(*lengths)
    return out


def _edit_distance(a, b, a_length, b_length):
    # Levenshtein's table, all texts at once: `row[j]` is the distance of the first i
    # characters of `a` to the first j of `b`.
    a, b = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    n = a.shape[1]
    row = np.repeat(np.arange(len(b) + 1, dtype=np.uint8)[:, None], n, axis=1)
    out = np.zeros(n, dtype=np.uint8)
    for i in range(int(a_length.max(initial=0))):
        before = row[0].copy()
        row[0] = i + 1
        for j in range(int(b_length.max(initial=0))):
            before += a[i] != b[j]
            np.minimum(before, np.minimum(row[j], row[j + 1]) + 1, out=before)
            before, row[j + 1] = row[j + 1].copy(), before
        ends = np.flatnonzero(a_length == i + 1)
        out[ends] = row[b_length[ends], ends]
    return out
