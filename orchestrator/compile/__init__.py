"""Turns a planned run into the specification that the test bed reads."""
