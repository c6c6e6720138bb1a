"""What :mod:`headrace.cellmap` is made of: the classes of cellmap-data, over patches of volumes."""
