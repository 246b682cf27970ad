"""Impurities and other scores of class counts, by which tests are chosen.

Users name a criterion; nothing here is called by them.
"""
