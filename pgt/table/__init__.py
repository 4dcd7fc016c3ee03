"""The table of visits: its columns, its rows, its people, and what a model sees of a visit."""
