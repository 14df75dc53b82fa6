// Information about the linked engine. The first call examines it, once per process.

extension SecureDatabaseStore {
    /// The engine's versions, build options and known weaknesses.
    ///
    /// - Throws: `.openFailed` when the linked library is not SQLCipher 4.
    public static var engine: SecureDatabaseEngine {
        get throws { try Engine.examined.get().description }
    }

    /// SQLite's version, for example `3.46.1`.
    ///
    /// - Throws: `.openFailed` when the linked library is not SQLCipher 4.
    ///
    /// The corresponding C function is
    /// [`sqlite3_libversion`](https://sqlite.org/c3ref/libversion.html).
    public static var sqliteVersion: String {
        get throws { try engine.sqliteVersion }
    }

    /// SQLCipher's version, for example `4.6.1 community`.
    ///
    /// - Throws: Same as ``sqliteVersion``.
    public static var cipherVersion: String {
        get throws { try engine.cipherVersion }
    }

    /// The cryptographic library that SQLCipher uses, for example `openssl`.
    ///
    /// - Throws: Same as ``sqliteVersion``.
    public static var cipherProvider: String {
        get throws { try engine.provider }
    }

    /// Whether SQLite was built for use by several threads, each with its own connections.
    ///
    /// The corresponding C function is
    /// [`sqlite3_threadsafe`](https://sqlite.org/c3ref/threadsafe.html).
    public static var isThreadSafe: Bool { Engine.isThreadSafe }

    /// Returns the version of the cryptographic library, for example `OpenSSL 3.0.17 1 Jul 2025`.
    ///
    /// - Returns: nil when the engine does not report it.
    /// - Throws: `.closed`; `.backingStoreError`.
    public func cipherProviderVersion() throws -> String? {
        try openConnection().text("PRAGMA cipher_provider_version")
    }

    /// Returns whether the cryptographic library runs in FIPS mode.
    ///
    /// - Returns: nil when the engine does not report it.
    /// - Throws: `.closed`; `.backingStoreError`.
    public func cipherFIPSStatus() throws -> Bool? {
        try openConnection().text("PRAGMA cipher_fips_status").map { $0 == "1" }
    }
}
