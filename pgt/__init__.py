"""Where Next? The Pointer-Generator Transformer for next-location prediction.

The way of the data: visits -> windows -> tensors -> model -> ranks -> tables -> figures.
Each stretch of it is one module; see the package's README for the order to read them in.
"""

__version__ = "0.1.0"
