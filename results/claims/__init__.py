"""What papers state, as data, and whether stored runs agree with it.

``model`` has the data of ``scenarios/papers/claims``, and ``rows`` makes the single comparisons of
a statement. ``values`` takes their values from stored runs, and ``judge`` decides. ``record`` keeps
what was measured as JSON, and ``page`` makes a document of it.
"""
