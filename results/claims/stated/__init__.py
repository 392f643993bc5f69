"""What papers state: claims as data, the rows of a statement, and what agrees with each."""
