"""Shows how kernels are built, and how their own tests end."""
