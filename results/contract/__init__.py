"""The JSON documents as models: what makes them, and what the OpenAPI document is made of.

Those of claims are in :mod:`results.claims.contract`, and those that only the API has in
:mod:`web.contract`.

A model is made by ``model_construct``, whose arguments mypy checks: what is shown was checked when
it was stored. ``document()`` returns the JSON object. Tests compare what is answered with the
schemas.
"""
