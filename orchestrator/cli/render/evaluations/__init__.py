"""Prints report cards and matrices of harm."""
