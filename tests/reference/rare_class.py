"""Classification data with a rare class, whose rows form one cluster."""

from sklearn.datasets import make_classification


def make_rare(n, n_rare, seed, class_sep=2.5):
    """Rows of ten features, of which the class 1 has `n_rare`."""
    return make_classification(
        n,
        n_features=10,
        n_informative=4,
        n_clusters_per_class=1,
        weights=[1.0 - n_rare / n],
        flip_y=0.0,
        class_sep=class_sep,
        random_state=seed,
    )
