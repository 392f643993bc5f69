"""How the values of a summary are laid out in a figure: panels, lines, colours."""
