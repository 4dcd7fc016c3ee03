"""Doubts: what is allowed in a table, but looks like a mistake, is counted and named."""
