"""The laboratory: experiments that make `book/results`. It is not part of the package."""
