"""What runs inside the test bed: needs the system's python3, its standard library and Mininet only.

This package imports nothing of the rest of the project; it reads one JSON document (the bed's
specification) and writes records. Inside the guest it is the init process.
"""
