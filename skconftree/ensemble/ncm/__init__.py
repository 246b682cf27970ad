"""Trees and forests of nearest class means."""
