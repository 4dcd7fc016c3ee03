"""The pointer-generator that writes summaries (See et al. 2017)."""
