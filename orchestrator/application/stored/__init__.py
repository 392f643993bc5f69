"""Use cases about stored runs: judge them again, export them, and take those of other stores."""
