"""Runs on the hosts of a lab: one agent on each host, over the interfaces that the host has.

``survey`` reports what a host is and has, before anything is stored. ``agent`` does a host's part
of a run. It writes to the undo log how each thing was before it changes it. All changes are undone
at the end of the run, also when the run fails.
"""
