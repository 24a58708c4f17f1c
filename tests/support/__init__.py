"""What several tests use: scripted endpoints, a served application, a browser tab."""
