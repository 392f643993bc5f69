"""The SQLite file: its schema, how it is opened, and how an earlier schema becomes this one."""
