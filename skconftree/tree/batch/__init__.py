"""Growth of trees from tables."""
