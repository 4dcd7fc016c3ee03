"""One training run, behind `pgt.train`: its epochs, and how it goes on where it was stopped."""
