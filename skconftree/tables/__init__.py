"""From what a user gives to an encoded table; knows no tree."""

__all__ = []
