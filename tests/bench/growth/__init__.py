"""How costs grow with the history, the steps of a run and the files of a workspace."""
