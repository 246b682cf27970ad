"""Trees of bootstrap samples, as a forest grows them."""

from skconftree.tables._growth_data import SampledData
from skconftree.tree.batch._grow import grow


def grow_sample(data, counts, settings, seed=0, **options):
    """Grow a tree from the rows of data, each of which occurs so often."""
    sampled = SampledData(data, data.sample(counts), data.class_weight)
    return grow(sampled, settings, seed, **options)
