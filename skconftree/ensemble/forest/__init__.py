"""Random forests of confidence trees."""
