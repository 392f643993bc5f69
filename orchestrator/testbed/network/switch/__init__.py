"""Open vSwitch: its database and its flows."""
