"""Half-precision matrix products by kernels that were measured to be fastest.

matmul(a, b) multiplies; explain(a, b) says with which kernel, and why. WarpsmithError is what the
library refuses with; wrong tensors are TypeError or ValueError, in words.
"""

from warpsmith._library import WarpsmithError, library_version
from warpsmith._operator import explain, matmul

__all__ = ["WarpsmithError", "explain", "library_version", "matmul"]
