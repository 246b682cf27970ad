"""The grown tree: structure, counts, statistics of its splits, and routing of rows."""
