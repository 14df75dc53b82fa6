// A vault is made of a key store and data keys: apps need no second import for them.
@_exported public import SecureKeys
