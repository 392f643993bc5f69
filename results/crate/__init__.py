"""Runs as an RO-Crate: written, planned again, and read from a stranger."""
