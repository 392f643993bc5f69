"""What is told of a flow and a whole trace: what limited its sender, and what cost it most."""
