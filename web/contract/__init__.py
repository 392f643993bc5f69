"""The contract of the JSON API: its parameters, and answers that ``results`` has no models of.

Parameters are read by the models here, so that the document and the check are one definition.
Answers of claims are made by their models. The other models of answers here are never made: tests
compare answers with their schemas.
"""
