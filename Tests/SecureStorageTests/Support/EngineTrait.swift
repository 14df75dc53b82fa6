import Foundation
import SecureStorage
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips a test over an engine that was built without an extension, as Debian's own is without
    /// dbstat.
    ///
    /// - Parameter option: As `PRAGMA compile_options` names it, for example `ENABLE_DBSTAT_VTAB`.
    /// - Returns: A trait of the test.
    static func engine(has option: String) -> Self {
        .enabled("the engine is built without \(option)") {
            try SecureDatabaseStore.engine.hasOption(option)
        }
    }

    /// Skips a test over LibTomCrypt, which leaves keys on the heap: see decision 24.
    static var engineClearsKeys: Self {
        .enabled("the engine's provider, LibTomCrypt, leaves freed copies of the key") {
            try !SecureDatabaseStore.engine.provider.lowercased().contains("libtomcrypt")
        }
    }

    /// Skips a test over an engine that is older than a version of SQLite.
    ///
    /// - Parameter version: Such as "3.47.0".
    /// - Returns: A trait of the test.
    static func engine(since version: String) -> Self {
        .enabled("the engine is older than SQLite \(version)") {
            try SecureDatabaseStore.engine.sqliteVersion
                .compare(version, options: .numeric) != .orderedAscending
        }
    }
}
