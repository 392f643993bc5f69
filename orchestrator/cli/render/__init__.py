"""Results as text for people, and as files for other programs."""
