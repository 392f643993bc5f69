"""Other machines over SSH: commands, folders and clocks."""
