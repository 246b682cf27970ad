"""What a growing leaf remembers and predicts."""
