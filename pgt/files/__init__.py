"""Files: written whole or not at all, tensors without pickle, cells without formulas."""
