"""How pages write quantities and addresses."""
