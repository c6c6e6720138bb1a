"""What headrace.dataset is made of: row numbers, and the Python functions of Dataset.map."""
