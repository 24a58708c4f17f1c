"""What an experiment hands out: rows of runs, results, tables and figures in all formats."""
