"""Use cases about scenarios before they run: check them, plan them."""
