"""Tasks with known answers: record format, generators and rewards."""
