import SecureStorage
import TestSupport

extension SecureKeyValueStore {
    /// The database of a store that is not in a pool, for tests that look at its tables.
    var db: SecureDatabaseStore {
        get throws { try require(database as? SecureDatabaseQueue).databaseStore }
    }
}
