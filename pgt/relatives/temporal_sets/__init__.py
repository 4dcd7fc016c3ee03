"""The predictor of next baskets (DNNTSP; Yu et al. 2020)."""
