"""Random forests of confidence trees, which only make splits with enough evidence."""
