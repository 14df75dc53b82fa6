// Two application-defined numbers in the file's header. They are part of the open transaction and
// encrypted like everything else.

extension SecureDatabaseStore {
    /// An application-defined number, often the schema version; 0 in a new file.
    ///
    /// - Throws: `.closed`; `.backingStoreError` when the file cannot be read.
    ///
    /// See [`PRAGMA user_version`](https://sqlite.org/pragma.html#pragma_user_version).
    public var userVersion: Int32 {
        get throws { try object(forQuery: "PRAGMA user_version") ?? 0 }
    }

    /// Sets ``userVersion``.
    ///
    /// - Parameter version: Any number.
    /// - Throws: `.closed`; `.backingStoreError` when the file cannot be written.
    public func setUserVersion(_ version: Int32) throws {
        try setPragma("user_version", version)
    }

    /// The number that identifies the app that the file belongs to; 0 in a new file.
    ///
    /// - Throws: `.closed`; `.backingStoreError` when the file cannot be read.
    ///
    /// See [`PRAGMA application_id`](https://sqlite.org/pragma.html#pragma_application_id).
    public var applicationID: UInt32 {
        get throws {
            let stored: Int32 = try object(forQuery: "PRAGMA application_id") ?? 0
            return UInt32(bitPattern: stored)
        }
    }

    /// Sets ``applicationID``.
    ///
    /// - Parameter identifier: Any number.
    /// - Throws: `.closed`; `.backingStoreError` when the file cannot be written.
    public func setApplicationID(_ identifier: UInt32) throws {
        try setPragma("application_id", Int32(bitPattern: identifier))
    }

    /// The application ID as four characters, such as `"GPKG"`; nil when it is not four printable
    /// ASCII characters.
    ///
    /// - Throws: Same as ``applicationID``.
    public var applicationIDString: String? {
        get throws {
            let identifier = try applicationID
            let bytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: identifier >> $0) }
            return bytes.allSatisfy(Self.isPrintable) ? String(decoding: bytes, as: UTF8.self) : nil
        }
    }

    /// Sets the application ID to four characters.
    ///
    /// - Parameter identifier: Exactly four printable ASCII characters.
    /// - Throws: `.closed`; `.backingStoreError`, code `.misuse` for any other text.
    public func setApplicationIDString(_ identifier: String) throws {
        let bytes = Array(identifier.utf8)
        guard bytes.count == 4, bytes.allSatisfy(Self.isPrintable) else {
            throw SecureStorageError.statementFailed(
                .misuse, "an application ID must be exactly four printable ASCII characters")
        }
        try setApplicationID(bytes.reduce(0) { $0 << 8 | UInt32($1) })
    }

    private static func isPrintable(_ byte: UInt8) -> Bool { (0x20...0x7e).contains(byte) }

    private func setPragma(_ name: String, _ value: Int32) throws {
        // A PRAGMA accepts no placeholders; interpolating an integer is safe.
        let statement = try workingConnection().statement(
            for: "PRAGMA \(name) = \(value)", cached: false)
        defer { statement.giveBack() }
        try statement.run()
    }
}
