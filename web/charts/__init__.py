"""Charts as SVG and the series that they show."""
