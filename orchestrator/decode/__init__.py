"""From the files that a test bed wrote to a ``Recording``. The files are hostile input."""
