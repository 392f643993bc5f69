"""The contract of the JSON API: its parameters, and answers that ``results`` has no models of.

Parameters are read by the models here, so that the document and the check are one definition.
Answers are made by their models, but for samples (:mod:`web.contract.series`) and for what was
measured of a claim: tests compare these with their schemas.
"""
