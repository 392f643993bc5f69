"""What runs on the hosts of a lab: one agent a host, over the interfaces that the hosts have.

``survey`` says what a host is and has, before anything is stored. ``agent`` takes a host's part of
a run: it sets what it was told, notes first how each thing was, and undoes all of it at the end,
however that comes.
"""
