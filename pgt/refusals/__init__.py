"""Refusals and notes: what is said before anything is computed, and changes nothing that is."""
