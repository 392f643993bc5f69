"""The parts of a scenario: fields with units; kinds of queues, losses, traffic and events."""
