"""The JSON documents as models: their only encoders, and the source of the OpenAPI document.

A model is made by ``model_construct``, whose arguments mypy checks: what is shown was checked when
it was stored. ``document()`` returns the JSON object. Tests compare what is answered with the
schemas.
"""
