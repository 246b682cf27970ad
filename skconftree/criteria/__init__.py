"""Split criteria: impurities and other scores of class counts.

Users select a criterion by its name. They do not call this package.
"""
