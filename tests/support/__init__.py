"""What several test modules need: stores, recordings, runners that pretend, hostile texts."""
