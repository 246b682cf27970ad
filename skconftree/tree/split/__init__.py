"""Selection of the best split of a node."""
