"""Faces for one program each, under the names that it imports.

Nothing but the public modules of those names (and ``headrace bench text``) imports them: the rest does not know them.
"""
