"""What a matrix, ``--set`` and the reduced form make of a scenario."""
