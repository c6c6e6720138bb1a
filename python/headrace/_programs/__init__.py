"""What is for one program alone: faces under the names that it imports, and the benchmark of one.

Only the public modules that give these names, and ``headrace bench text``, import them: the rest does not know them.
"""
