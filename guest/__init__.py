"""The guest kernel: User Mode Linux in virtual time, built from Debian's kernel source.

Use ``find()`` and ``ensure()`` of ``guest.build``: they return a ``GuestKernel``.
"""
