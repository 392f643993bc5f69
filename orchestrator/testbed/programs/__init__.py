"""Users' programs in a test bed: how they are started, watched and ended."""
