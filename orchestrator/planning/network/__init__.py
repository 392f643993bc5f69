"""The planned network: its document, what it may hold, and queues that never drain."""
