"""Chat Completions, as its families accept it."""
