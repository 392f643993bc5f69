"""What pages show: contents and choices, made from stored runs."""
