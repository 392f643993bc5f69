"""Conditions on runs and variants, as users write them."""
