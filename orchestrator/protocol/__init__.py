"""The contract between controller and test bed; both import it, and never each other.

Standard library only, Python 3.10 to 3.13: this package travels with the test bed.
"""
