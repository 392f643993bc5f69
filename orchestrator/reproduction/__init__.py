"""Tests what papers state: makes the runs that the statements need, and judges them."""
