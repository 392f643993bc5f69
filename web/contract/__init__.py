"""The contract of the JSON API: its parameters, and answers that no command has.

Parameters are read by the models here, so that the document and the check are one definition.
Models of answers are never made: tests compare answers with their schemas.
"""
