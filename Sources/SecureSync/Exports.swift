// An engine is made of a database and a store: apps need no further import for the store.
@_exported public import ObjectStores
