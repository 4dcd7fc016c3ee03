"""Improvements that were proposed for the Pointer-Generator Transformer, each a part to plug in.

>>> from pgt.improvements.registry import IMPROVEMENTS
>>> "geglu" in IMPROVEMENTS
True
"""
