"""The stage of the book: the simulated town, exercises, drawings and the readers of results."""
