"""Data that do not fit into memory: buckets of people, and engines that work through them."""
