"""Labels of a pool, most of which are missing."""

import copy

import numpy as np

from ..tables._label_values import unique_classes
from ..tables._missing_labels import is_unlabeled, split_labels
from ..utils import canonical


class LabelCodes:
    """Labels as places in a sorted list of classes, which does not change.

    `classes` are all labels that may be given; None: whatever comes.
    """

    def __init__(self, missing_label, classes=None):
        self.missing_label = missing_label
        self.fixed = classes is not None
        self.classes = None
        if self.fixed:
            if is_unlabeled(np.array(list(classes), dtype=object), missing_label).any():
                raise ValueError(
                    f"classes must not hold missing_label={missing_label!r}, None or "
                    f"NaN. Got {classes!r}."
                )
            self.classes = unique_classes(classes)

    def read(self, y, name="y"):
        """Say which rows have a label, and which; error messages call them `name`."""
        if not hasattr(y, "__len__"):
            y = np.asarray(y)
        labels, known = split_labels(y, self.missing_label, name)
        if self.fixed:
            unknown = [one for one in labels.tolist() if one not in self._places()]
            if unknown:
                raise ValueError(
                    f"{name} holds the label {unknown[0]!r}, which is not one of the "
                    f"classes {self.classes.tolist()}."
                )
        return known, labels

    def _places(self):
        return {label: i for i, label in enumerate(self.classes.tolist())}

    def encode(self, labels):
        """Places of labels; None if one of them is new."""
        places = self._places()
        found = [places.get(one, -1) for one in labels.tolist()]
        return None if -1 in found else np.array(found, dtype=np.intp)

    def learned(self, *batches):
        """Codes with the classes of labels, unless these are fixed; another object."""
        other = copy.copy(self)
        batches = [batch for batch in batches if len(batch)]
        kinds = {batch.dtype.kind == "U" for batch in batches}
        if len(kinds) > 1:  # NumPy would make strings of all
            raise ValueError(
                "labels mixes strings with other labels. Give labels of one kind."
            )
        if not self.fixed:
            other.classes = (
                unique_classes(np.concatenate(batches)) if batches else np.empty(0, int)
            )
        return other

    def write(self, codes):
        """Labels of codes, with the missing label for -1."""
        if self.missing_label is None:
            out = np.full(len(codes), None, dtype=object)
        elif self.classes.dtype.kind in "iu" and isinstance(
            self.missing_label, (int, np.integer)
        ):
            out = np.full(len(codes), self.missing_label, dtype=np.int64)
        else:
            out = np.full(len(codes), self.missing_label, dtype=object)
        known = codes >= 0
        out[known] = self.classes[codes[known]]
        return out

    def __getstate__(self):
        return canonical(self.__dict__)
