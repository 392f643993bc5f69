"""What changes a store as a whole: merging, the check of a stranger's runs, and housekeeping."""
