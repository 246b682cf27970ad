"""Growth from a table."""
