"""The contract of the JSON API: its parameters, and answers that ``results`` has no models of.

Parameters are read by the models here, so that the document and the check are one definition.
Answers are made by their models.
"""
