"""What kinds read from files that a scenario names: traces, graphs, distributions."""
