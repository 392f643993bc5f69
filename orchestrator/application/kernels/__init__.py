"""What changed between kernels: over several of them, and which commit did it."""
