public import Foundation
internal import SecureStorage

// A name has one value, whatever its type; the last one set counts. Names are any text of 1 to 255
// bytes of UTF-8, and are the same when their bytes are.

extension DataVault {
    /// Stores a string, durably when the call returns.
    ///
    /// - Parameters:
    ///   - name: Of 1 to 255 bytes.
    ///   - value: At most ``valueSizeLimit`` bytes of UTF-8; nil deletes what the name has.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist` when the vault was destroyed
    ///   meanwhile, `.invalidArg` for an empty name, `.nameTooLong`, `.valueTooLarge`,
    ///   `.ioWriteError`.
    public func setString(_ name: String, value: String?) throws {
        try Self.check(name, size: value?.utf8.count ?? 0)
        try withOpened { opened in
            if let value {
                try opened.values.set(value, name)
            } else {
                _ = try opened.values.remove(name)
            }
        }
    }

    /// Stores data, durably when the call returns.
    ///
    /// - Parameters:
    ///   - name: Of 1 to 255 bytes.
    ///   - value: At most ``valueSizeLimit`` bytes; nil deletes what the name has.
    /// - Throws: As `setString(_:value:)`.
    public func setValue(_ name: String, value: Data?) throws {
        try Self.check(name, size: value?.count ?? 0)
        try withOpened { opened in
            if let value {
                try opened.values.set(value, name)
            } else {
                _ = try opened.values.remove(name)
            }
        }
    }

    /// Reads a string.
    ///
    /// - Parameter name: Of 1 to 255 bytes.
    /// - Returns: nil when the name has nothing.
    /// - Throws: `DataVaultError`: `.locked`, `.conversionError` for what was set as data,
    ///   `.doesNotExist` when the vault was destroyed meanwhile, `.invalidArg`, `.nameTooLong`,
    ///   `.ioReadError`.
    public func getString(_ name: String) throws -> String? {
        try Self.check(name)
        return try withOpened { try $0.values.string(name) }
    }

    /// Reads data; of what was set as a string, its UTF-8 bytes.
    ///
    /// - Parameter name: Of 1 to 255 bytes.
    /// - Returns: nil when the name has nothing.
    /// - Throws: As `getString(_:)`, but for the conversion.
    public func getValue(_ name: String) throws -> Data? {
        try Self.check(name)
        return try withOpened { try $0.values.data(name) }
    }

    /// Deletes what a name has, whatever its type.
    ///
    /// - Parameter name: Of 1 to 255 bytes.
    /// - Returns: Whether there was anything.
    /// - Throws: As `setString(_:value:)`.
    @discardableResult
    public func deleteValue(_ name: String) throws -> Bool {
        try Self.check(name)
        return try withOpened { try $0.values.remove(name) }
    }

    /// The names that have a value, with its type, in the order of their bytes.
    public var dataNames: [DataVaultDataName] {
        get throws { try withOpened { try $0.values.names() } }
    }

    private static func check(_ name: String, size: Int = 0) throws {
        guard !name.isEmpty else { throw DataVaultError.invalidArg(reason: "the name is empty") }
        guard name.utf8.count <= nameLengthLimit else { throw DataVaultError.nameTooLong }
        guard size <= valueSizeLimit else { throw DataVaultError.valueTooLarge }
    }
}

// MARK: - As Swift has it

extension DataVault {
    /// Reads a string; see ``getString(_:)``.
    ///
    /// - Parameter name: Of 1 to 255 bytes.
    /// - Returns: nil when the name has nothing.
    /// - Throws: `DataVaultError`.
    public func string(for name: String) throws -> String? { try getString(name) }

    /// Reads data; see ``getValue(_:)``.
    ///
    /// - Parameter name: Of 1 to 255 bytes.
    /// - Returns: nil when the name has nothing.
    /// - Throws: `DataVaultError`.
    public func data(for name: String) throws -> Data? { try getValue(name) }

    /// Stores a string; see ``setString(_:value:)``.
    ///
    /// - Parameters:
    ///   - value: The string.
    ///   - name: Of 1 to 255 bytes.
    /// - Throws: `DataVaultError`.
    public func set(_ value: String, for name: String) throws { try setString(name, value: value) }

    /// Stores data; see ``setValue(_:value:)``.
    ///
    /// - Parameters:
    ///   - value: The data.
    ///   - name: Of 1 to 255 bytes.
    /// - Throws: `DataVaultError`.
    public func set(_ value: Data, for name: String) throws { try setValue(name, value: value) }

    /// Deletes what a name has; see ``deleteValue(_:)``.
    ///
    /// - Parameter name: Of 1 to 255 bytes.
    /// - Returns: Whether there was anything.
    /// - Throws: `DataVaultError`.
    @discardableResult
    public func removeValue(for name: String) throws -> Bool { try deleteValue(name) }
}
