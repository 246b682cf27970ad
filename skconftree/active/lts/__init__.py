"""Learning to sample."""
