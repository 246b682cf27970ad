"""The grown tree: structure, counts, evidence, and routing of rows."""
