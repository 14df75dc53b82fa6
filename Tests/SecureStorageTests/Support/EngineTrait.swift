import Foundation
import SecureStorage
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips a test if the engine was built without an option, as Debian's is without dbstat.
    ///
    /// - Parameter option: The option as `PRAGMA compile_options` lists it, such as
    ///   `ENABLE_DBSTAT_VTAB`.
    /// - Returns: A trait for the test.
    static func engine(has option: String) -> Self {
        .enabled("the engine is built without \(option)") {
            try SecureDatabaseStore.engine.hasOption(option)
        }
    }

    /// Skips a test if the provider is LibTomCrypt, which leaves keys on the heap: see decision 24.
    static var engineClearsKeys: Self {
        .enabled("the engine's provider, LibTomCrypt, leaves freed copies of the key") {
            try !SecureDatabaseStore.engine.provider.lowercased().contains("libtomcrypt")
        }
    }

    /// Skips a test if the engine is older than a version of SQLite.
    ///
    /// - Parameter version: The version, such as "3.47.0".
    /// - Returns: A trait for the test.
    static func engine(since version: String) -> Self {
        .enabled("the engine is older than SQLite \(version)") {
            try SecureDatabaseStore.engine.sqliteVersion
                .compare(version, options: .numeric) != .orderedAscending
        }
    }
}
