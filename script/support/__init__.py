"""The commands of `script/`, in Python: standard library only, because they run before anything is
installed.
"""
