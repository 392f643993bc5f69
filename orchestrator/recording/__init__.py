"""The recording of a run, in SI units: the contract of back ends, fidelity and results."""
