"""Relatives of the Pointer-Generator Transformer: what it came from, and its cousins.

`pgt.relatives.summarizer` and its neighbours hold the pointer-generator that writes summaries
(See et al. 2017); `pgt.relatives.temporal_sets` and its neighbours the predictor of next baskets
(Yu et al. 2020), whose masked self-attention one of the design documents explains.
"""
