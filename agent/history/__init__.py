"""All recorded runs: index, search, export, deletion."""
