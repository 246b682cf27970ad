"""The settings of a cloud of planes, typed and checked."""

from numbers import Integral, Real

cdef dict KINDS = {
    "n_problems": (Integral, 0, 2**16),
    "n_particles": (Integral, 2, 2**31),
    "n_features": (Integral, 1, 2**31),
    "buffer_size": (Integral, 1, 2**31),
    "alpha": (Real, 0.0, 1.0),
    "gamma": (Real, 0.0, 1.0),
    "cauchy": (bool, 0, 1),
    "scale": (Real, 1e-50, 1e50),
    "resample": (bool, 0, 1),
    "seed": (Integral, 0, 2**32),
}


cdef class CloudSettings:
    """Every parameter of a cloud; ValueError if one is missing or out of range.

    Compiled code makes arrays by what it finds here, which may come out of a file.
    """

    def __cinit__(self, **given):
        if given.keys() != KINDS.keys():
            raise ValueError(f"The state of these particles is damaged: {list(given)}.")
        for name, (kind, low, high) in KINDS.items():
            if not (isinstance(given[name], kind) and low <= given[name] <= high):
                raise ValueError(
                    f"The state of these particles is damaged: {name} must be in "
                    f"[{low}, {high}]. Got {given[name]!r} instead."
                )
        self.n_problems = given["n_problems"]
        self.n_particles = given["n_particles"]
        self.n_features = given["n_features"]
        self.buffer_size = given["buffer_size"]
        self.alpha = given["alpha"]
        self.gamma = given["gamma"]
        self.cauchy = given["cauchy"]
        self.scale = given["scale"]
        self.resample = given["resample"]
        self.seed = given["seed"]

    def values(self):
        """Arguments that these settings are made from."""
        return {name: getattr(self, name) for name in KINDS}

    def replace(self, **changes):
        """Make settings that differ from these in some arguments."""
        return CloudSettings(**self.values() | changes)
