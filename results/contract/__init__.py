"""The JSON documents as models, which the OpenAPI document is made of.

Those of runs, summaries, comparisons and experiments are made by them, and those of claims by
:mod:`results.claims.contract`.

A model is made by ``model_construct``, whose arguments mypy checks: what is shown was checked when
it was stored. ``document()`` returns the JSON object. Tests compare what is answered with the
schemas.
"""
