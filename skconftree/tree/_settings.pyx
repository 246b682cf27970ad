"""Parameters of the growth of a tree, resolved, typed and validated.

A bound is the rule that accepts or rejects splits. The fields are described in _settings.pxd.
"""

from libc.math cimport INFINITY

from skconftree.utils import merge_defaults

# Attributes that a bound must have, see `BaseBound` in bounds/_base.py; `kernel` makes the
# compiled object that decides.
cdef tuple BOUND_ATTRIBUTES = (
    "kernel", "uses_pool", "counts_every_row", "counts_stored_rows", "fixed_cuts",
    "examines_children",
)
cdef tuple PREDICTIONS = ("majority", "nb", "nba")
cdef intp_t MAX_BINS = 65536        # limits that prevent an overflow of sizes in bytes
cdef intp_t MAX_STORED_ROWS = 1 << 40

# Arguments of GrowthSettings, in the order of their values.
cdef dict DEFAULTS = {
    "criterion": "gini",
    "bound": None,
    "max_features": None,
    "random_cuts": False,
    "multiway": False,
    "monotonic_cst": None,
    "max_depth": None,
    "max_leaves": None,
    "min_samples_split": 2.0,
    "min_samples_leaf": 1.0,
    "min_weight_fraction_leaf": 0.0,
    "min_impurity_decrease": 0.0,
    "gaussian": False,          # leaves store means and variances instead of rows
    "row_limit": None,          # number of rows from which a leaf counts them in bins
    "stored_rows": 0,           # of all leaves, in addition to counts
    "max_bins": 32,
    "inherited": INFINITY,      # largest weight that a child inherits from its parent
    "leaf_prediction": "majority",
    "grace_period": 100.0,
    "grace_limit": 0.0,         # maximum of the grace period, which increases
    "root_grace": 0.0,          # grace period of the root
    "row_weight": 1.0,          # with which a row is learned on average
    "drift": None,
    "max_bytes": None,
}
NAMES = tuple(DEFAULTS)


cdef class GrowthSettings:
    """All parameters of the growth of a tree; immutable.

    Compiled code uses these values as indices and divisors, so all are validated,
    independent of their source: numbers have the exact type of their fields, None means
    no limit, and anything else is a ValueError. Bound (split rule) and drift (drift
    detection) are objects with parameters that were validated before. The bound defines
    which rows count as evidence, the statistics that it uses.
    """

    def __cinit__(self, **arguments):
        cdef dict values = DEFAULTS | arguments
        if len(values) > len(NAMES):
            raise TypeError(
                f"GrowthSettings has no {sorted(set(arguments) - set(NAMES))}. Its settings "
                f"are {list(NAMES)}."
            )
        self.criterion = values["criterion"]
        if not isinstance(self.criterion, (str, type)) and not hasattr(self.criterion, "kernel"):
            _raise_invalid("criterion", self.criterion, "a str, a class or a criterion object")
        self.bound = _parameters(values, "bound", BOUND_ATTRIBUTES)
        self.max_features = _limit(values, "max_features", 1)
        self.random_cuts = _flag(values, "random_cuts")
        self.multiway = _flag(values, "multiway")
        self.monotonic_cst = _signs(values, "monotonic_cst")
        self.max_depth = _limit(values, "max_depth", 1)
        self.max_leaves = _limit(values, "max_leaves", 2)
        # negative: minus a fraction of the total weight
        self.min_samples_split = _number(values, "min_samples_split", -1.0, INFINITY)
        self.min_samples_leaf = _number(values, "min_samples_leaf", -1.0, INFINITY)
        self.min_weight_fraction_leaf = _number(values, "min_weight_fraction_leaf", 0.0, 0.5)
        self.min_impurity_decrease = _number(values, "min_impurity_decrease", 0.0, INFINITY)
        self.gaussian = _flag(values, "gaussian")
        self.row_limit = _limit(values, "row_limit", 1)
        self.stored_rows = _integer(values, "stored_rows", 0, MAX_STORED_ROWS)
        self.max_bins = _integer(values, "max_bins", 2, MAX_BINS)
        self.inherited = _number(values, "inherited", 1.0, INFINITY)
        self.leaf_prediction = _choice(values, "leaf_prediction", PREDICTIONS)
        self.grace_period = _number(values, "grace_period", 0.0, INFINITY)
        self.grace_limit = _number(values, "grace_limit", 0.0, INFINITY)
        self.root_grace = _number(values, "root_grace", 0.0, INFINITY)
        self.row_weight = _number(values, "row_weight", 1.0, INFINITY)
        self.drift = _parameters(values, "drift", ("check_parameters",))
        self.max_bytes = _limit(values, "max_bytes", 0)

        bound = self.bound
        if bound is not None:
            # what the weight of a node includes: "pool" (unlabeled rows, if there are any),
            # "labeled" (no unlabeled rows) or "volume" (of its box in feature space)
            pool_weight = getattr(bound, "pool_weight", "pool")
            self.uses_pool = bound.uses_pool and pool_weight != "labeled"
            self.by_volume = pool_weight == "volume"
            # only rows since a leaf's creation are evidence
            self.separate = not bound.counts_every_row
            self.inherited_is_evidence = self.separate and bound.counts_stored_rows
            self.fixed_cuts = bound.fixed_cuts      # candidate thresholds of a leaf
            self.recurses = bound.examines_children     # immediately after a split

    def values(self):
        """Arguments of these settings; bound and drift are objects."""
        values = {name: getattr(self, name) for name in NAMES}
        for name in ("max_features", "max_depth", "max_leaves", "row_limit", "max_bytes"):
            if values[name] == NO_LIMIT:
                values[name] = None
        return values

    def replace(self, **changes):
        """Make settings that differ in some arguments."""
        return GrowthSettings(**self.values() | changes)

    def __reduce__(self):
        return read_settings, (self.values(),)


def read_settings(values):
    """Make settings from pickled `GrowthSettings.values`; ValueError if corrupt.

    A setting that was added later gets its default.
    """
    return GrowthSettings(**merge_defaults(values, DEFAULTS, "The state of these growth settings"))


cdef _raise_invalid(str name, value, str expected):
    raise ValueError(f"The growth setting {name} must be {expected}. Got {value!r} instead.")


cdef intp_t _integer(dict values, str name, intp_t low, intp_t high) except? -1:
    value = values[name]
    if type(value) is not int or not low <= value <= high:
        _raise_invalid(name, value, f"an integer in [{low}, {high}]")
    return value


cdef intp_t _limit(dict values, str name, intp_t low) except? -1:
    if values[name] is None:
        return NO_LIMIT
    return _integer(values, name, low, NO_LIMIT - 1)


cdef float64_t _number(dict values, str name, float64_t low, float64_t high) except? -1.0:
    value = values[name]
    if type(value) is not float or not low <= value <= high:
        _raise_invalid(name, value, f"a float in [{low}, {high}]")
    return value


cdef bint _flag(dict values, str name) except? -1:
    value = values[name]
    if type(value) is not bool:
        _raise_invalid(name, value, "a bool")
    return value


cdef str _choice(dict values, str name, tuple choices):
    value = values[name]
    if type(value) is not str or value not in choices:
        _raise_invalid(name, value, f"one of {choices}")
    return value


cdef tuple _signs(dict values, str name):
    value = values[name]
    if value is not None and not (
        type(value) is tuple and all([type(sign) is int and -1 <= sign <= 1 for sign in value])
    ):
        _raise_invalid(name, value, "a tuple of -1, 0 or 1, or None")
    return value


cdef _parameters(dict values, str name, tuple attributes):
    # A parameter object of any class.
    cdef str attribute
    value = values[name]
    if value is not None:
        for attribute in attributes:
            if isinstance(value, type) or not hasattr(value, attribute):
                _raise_invalid(name, value, "a parameter object or None")
    return value
