"""The command line, ``python -m pgt``."""
