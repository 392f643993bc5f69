"""What a test bed reports: facts, records, outcomes and its console."""
