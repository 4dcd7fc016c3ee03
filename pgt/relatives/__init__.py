"""Relatives of the Pointer-Generator Transformer: what it came from, its rivals, and its cousins.

`hong` holds the two networks that it is compared with, `summarizer` the pointer-generator that
writes summaries (See et al. 2017), `temporal_sets` the predictor of next baskets (Yu et al. 2020),
whose masked self-attention one of the design documents explains, and `hybrids` PGT with one part
taken from a relative.
"""
