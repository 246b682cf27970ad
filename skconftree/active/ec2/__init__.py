"""Equivalence class edge cutting."""
