"""A tree for people and for other tools."""
