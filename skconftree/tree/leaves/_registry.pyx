"""The memories that growing leaves may have."""

from skconftree.utils._codec import damaged

from skconftree.tree.leaves._counted_rows cimport COUNTED_ROWS
from skconftree.tree.leaves._gaussian cimport GAUSSIAN
from skconftree.tree.leaves._histogram cimport HISTOGRAM
from skconftree.tree.leaves._nothing cimport NOTHING
from skconftree.tree.leaves._rows cimport ROWS
from skconftree.utils._typedefs cimport intp_t

cdef enum:
    N_MEMORIES = 5

cdef const LeafMemory* MEMORIES[N_MEMORIES]
MEMORIES[:] = [&NOTHING, &ROWS, &HISTOGRAM, &GAUSSIAN, &COUNTED_ROWS]


cdef const LeafMemory* memory_named(str name) except NULL:
    cdef intp_t i
    for i in range(N_MEMORIES):
        if MEMORIES[i].name == name.encode():
            return MEMORIES[i]
    raise ValueError(f"There is no leaf memory {name!r}.")


cdef const LeafMemory* memory_of_code(int64_t code) except NULL:
    cdef intp_t i
    for i in range(N_MEMORIES):
        if MEMORIES[i].code == code:
            return MEMORIES[i]
    raise damaged("growing tree")


cdef _check():
    # A function that is missing is found when the package is imported.
    cdef const LeafMemory* one
    cdef intp_t i, j
    for i in range(N_MEMORIES):
        one = MEMORIES[i]
        if (
            one.name == NULL or one.open == NULL or one.observe == NULL
            or one.convert == NULL or one.part == NULL or one.is_exact == NULL
            or one.tabulate == NULL or one.count_categories == NULL
            or one.write == NULL or one.read == NULL
        ):
            raise TypeError(f"Leaf memory {i} lacks one of its functions.")
        for j in range(i):
            if MEMORIES[j].code == one.code or MEMORIES[j].name == one.name:
                raise TypeError(f"Leaf memories {j} and {i} have one name or code.")


_check()
