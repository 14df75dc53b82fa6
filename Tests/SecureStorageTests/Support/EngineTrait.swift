import SecureStorage
import Testing

extension Trait where Self == ConditionTrait {
    /// Skips a test over an engine that was built without an extension, as Debian's own is without dbstat.
    ///
    /// - Parameter option: As `PRAGMA compile_options` names it, for example `ENABLE_DBSTAT_VTAB`.
    /// - Returns: A trait of the test.
    static func engine(has option: String) -> Self {
        .enabled("the engine is built without \(option)") {
            try SecureDatabaseStore.engine.hasOption(option)
        }
    }
}
