"""What headrace.groups is made of: totals of groups, and their sum over ranks."""
