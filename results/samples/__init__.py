"""Samples of runs: as arrays, as compressed blocks in the store, and reduced for drawing."""
