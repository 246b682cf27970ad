"""The grown tree: structure, counts, evidence, and the way of a row through it."""
