"""Runs and experiments as tables: CSV and Parquet."""
