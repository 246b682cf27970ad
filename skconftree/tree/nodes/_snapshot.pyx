"""What the arrays of a tree were at one moment."""

from skconftree.tree.nodes._derived import proportions, shrunk
from skconftree.utils._readonly import read_only


cdef class Snapshot:
    """The arrays of a tree, and what was built from them."""

    def __cinit__(self):
        self.arrays = {}
        self.structural = {}
        self.counted = {}

    cdef object array(self, str name):
        # To be handed out, from when on nobody can write to it.
        found = self._found(name)
        if found.flags.writeable:
            found = self.arrays[name] = read_only(found)
        return found

    cdef object _found(self, str name):
        found = self.arrays.get(name)
        if found is None:   # the impurity of a tree that grows
            found = self.arrays[name] = self.criterion.impurities(
                self.arrays["counts"] * self.class_weight
            )
        return found

    cdef dict all_arrays(self):
        # To be read here; they may be the tree's own.
        self._found("impurity")
        return self.arrays

    cdef object of_structure(self, object make):
        # What a function makes of the arrays, but for those of counts.
        found = self.structural.get(make)
        if found is None:
            found = self.structural[make] = read_only(make(self.arrays))
        return found

    cdef object of_counts(self, object make):
        # What a function makes of counts, `class_weight` and parents.
        found = self.counted.get(make)
        if found is None:
            found = self.counted[make] = read_only(
                make(self.arrays["counts"], self.class_weight, self.arrays["parent"])
            )
        return found

    cdef object values(self):
        # What the nodes predict: their proportions, shrunk if the tree does that.
        if self.shrinkage == 0.0:
            return self.of_counts(proportions)
        found = self.counted.get("values")
        if found is None:
            found = read_only(
                shrunk(
                    self.of_counts(proportions), self.arrays["counts"].sum(axis=1),
                    self.arrays["parent"], self.arrays["depth"], self.shrinkage,
                )
            )
            self.counted["values"] = found
        return found
