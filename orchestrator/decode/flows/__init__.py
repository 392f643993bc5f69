"""The flows of a run: whose a socket is, their connections, and how they end."""
