"""What `make docs` and `scripts/write_reference.py` are made of: readers of the sources, and writers of pages."""
