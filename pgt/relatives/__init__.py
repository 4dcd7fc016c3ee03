"""Relatives of the Pointer-Generator Transformer: what it came from, and its cousins.

`summarizer` holds the pointer-generator that writes summaries (See et al. 2017), `temporal_sets`
the predictor of next baskets (Yu et al. 2020), whose masked self-attention one of the design
documents explains, and `side_by_side` what both kinds of encoder cost.
"""
