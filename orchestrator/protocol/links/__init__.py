"""What emulates a link: queueing disciplines, their options and random quantities."""
