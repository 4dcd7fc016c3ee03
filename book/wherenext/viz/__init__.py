"""What one looks at: figures, maps, and the model that runs in a page."""
