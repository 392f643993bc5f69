"""The JSON documents of runs and of their list: a stable contract."""
