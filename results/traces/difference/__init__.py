"""Where two runs part: the first traced event that is not the same in both."""
