"""Scores, ranks and losses, without writing down a number for every place."""
