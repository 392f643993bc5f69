"""The guest kernel: User Mode Linux in virtual time, built from Debian's kernel source.

``guest.build`` is the way in: ``find()`` and ``ensure()`` hand out a ``GuestKernel``.
"""
