"""The same numbers whoever shares a batch, and however many processes share the work."""
