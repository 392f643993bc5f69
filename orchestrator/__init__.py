"""Runs TCP congestion-control experiments on real kernels and judges how far to trust them."""

__version__ = "0.1.0"
