"""The browser of the tests, and the pages that they share."""
