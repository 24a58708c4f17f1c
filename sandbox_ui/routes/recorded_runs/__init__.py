"""Routes of recorded runs: forks, replays, imports, and those that ship with the studio."""
