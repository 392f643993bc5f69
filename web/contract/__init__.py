"""The contract of the JSON API: its parameters, and answers that ``results.contract`` has not.

Parameters are read by the models here, so that the document and the check are one definition.
The models of answers here are never made: tests compare answers with their schemas.
"""
