"""A member of a group, by Docs/SyncFormat.md alone: none of the library's code is used here.

Needs Python 3.11, and the packages cryptography and cbor2.
"""
