"""The contract of the JSON API: its parameters and its answers, as the OpenAPI document has them.

Parameters are read by the models here, so that the document and the check are one definition.
Models of answers are never made: tests compare answers with their schemas.
"""
