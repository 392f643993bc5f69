"""What the store keeps of a run: the declarations of its fields, and checks of their types."""
