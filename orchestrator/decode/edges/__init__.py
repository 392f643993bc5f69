"""What a test bed reads at the edges of windows: times in queues, and counters of hosts."""
