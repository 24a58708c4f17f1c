"""Ask a model about the transcripts of runs: a question with a schema, answers that cite a step."""
