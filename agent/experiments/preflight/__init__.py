"""What is found out before an evaluation costs anything: whether it can work, and what it takes."""
