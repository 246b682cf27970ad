"""Equivalence class edge cutting (EC2), a query strategy that tests hypotheses.

It queries the label that is expected to separate the most pairs of hypotheses (edges)
from different groups (equivalence classes).
"""
