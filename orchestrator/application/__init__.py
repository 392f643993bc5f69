"""Use cases: what the command line, notebooks and tests ask for, without a terminal."""
