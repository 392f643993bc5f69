"""The emulated network: links, queues, switches and addresses, set and read back."""
