"""Reports of experiments: sections, tables and figures, written as HTML and PDF."""
