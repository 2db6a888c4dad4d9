"""The commands of `script/`, in Python.

They use the standard library only, because they run before anything is installed.
"""
