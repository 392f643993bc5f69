"""Where a run takes place: each back end takes a planned run and hands out a ``Recording``."""
