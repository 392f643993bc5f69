"""Runs guests on the workers of a Dask cluster. Only ``connection`` and ``worker`` import Dask."""
