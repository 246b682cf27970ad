"""The experiments of the papers, again."""
