"""Evaluates a congestion control: a report card by criteria that RFCs and papers ask for."""
