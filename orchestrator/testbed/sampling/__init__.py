"""Measures the network and its sockets, and writes the records of a run."""
