"""The contract between controller and test bed; both import it, and never each other.

Standard library only, Python 3.10 to 3.13: this package travels with the test bed.
"""

BUNDLE = "modules.bundle"
"""File in a guest's input folder, from which the guest imports modules; see testbed/bundle.py."""
