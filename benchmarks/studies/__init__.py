"""Studies of what bounds and settings do on data."""
