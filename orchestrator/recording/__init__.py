"""What one run has recorded, in SI units: the contract between back ends, fidelity and results."""
