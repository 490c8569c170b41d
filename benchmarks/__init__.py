"""How fast it is, as ratios against the same work written by hand with the same libraries: ``make bench``.

A row of the table is one function, marked with `table.row`, in one of the modules that `__main__` names.
"""
