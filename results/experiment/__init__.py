"""What an experiment says: its values, means with intervals, differences, and what is left out."""
