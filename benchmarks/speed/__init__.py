"""Timing scripts, and the ratchet that compares their ratios with earlier runs."""
