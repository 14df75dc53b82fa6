// Keys and passwords are given as secret bytes: apps need no second import for them.
@_exported public import class SecureKeys.SecretBytes
