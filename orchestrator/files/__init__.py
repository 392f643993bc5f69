"""Files on this machine: those that a user names, temporary folders, and their removal."""
