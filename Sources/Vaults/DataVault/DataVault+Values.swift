public import Foundation
internal import SecureStorage

// A name has one value, of either type; the last one set counts. Names are any text of 1 to 255
// bytes of UTF-8, and are equal if their bytes are.

extension DataVault {
    /// Stores a string, durably when the call returns.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes.
    ///   - value: At most ``valueSizeLimit`` bytes of UTF-8; nil deletes the value of the name.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist` if the vault was destroyed in the
    ///   meantime, `.invalidArg` for an empty name, `.nameTooLong`, `.valueTooLarge`,
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
    ///   - name: 1 to 255 bytes.
    ///   - value: At most ``valueSizeLimit`` bytes; nil deletes the value of the name.
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

    /// Stores secret bytes as data, durably when the call returns.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes.
    ///   - value: At most ``valueSizeLimit`` bytes.
    /// - Throws: As `setString(_:value:)`.
    public func setSecret(_ name: String, value: SecretBytes) throws {
        try value.withData { try setValue(name, value: $0) }
    }

    /// Reads a string.
    ///
    /// - Parameter name: 1 to 255 bytes.
    /// - Returns: The string; nil if the name has no value.
    /// - Throws: `DataVaultError`: `.locked`, `.conversionError` if the value was set as data,
    ///   `.doesNotExist` if the vault was destroyed in the meantime, `.invalidArg`, `.nameTooLong`,
    ///   `.ioReadError`.
    public func getString(_ name: String) throws -> String? {
        try Self.check(name)
        return try withOpened { try $0.values.string(name) }
    }

    /// Reads data; for a value set as a string, its UTF-8 bytes.
    ///
    /// - Parameter name: 1 to 255 bytes.
    /// - Returns: The data; nil if the name has no value.
    /// - Throws: As `getString(_:)`, except for `.conversionError`.
    public func getValue(_ name: String) throws -> Data? {
        try Self.check(name)
        return try withOpened { try $0.values.data(name) }
    }

    /// Reads data or a string's UTF-8 bytes as secret bytes, of which no copy stays in memory once
    /// the vault is locked and the last reference to them is released.
    ///
    /// - Parameter name: 1 to 255 bytes.
    /// - Returns: The bytes; nil if the name has no value.
    /// - Throws: As `getString(_:)`, except for `.conversionError`.
    public func getSecret(_ name: String) throws -> SecretBytes? {
        try Self.check(name)
        return try withOpened { try $0.values.secret(name) }
    }

    /// Deletes the value of a name, regardless of its type.
    ///
    /// - Parameter name: 1 to 255 bytes.
    /// - Returns: Whether it had a value.
    /// - Throws: As `setString(_:value:)`.
    @discardableResult
    public func deleteValue(_ name: String) throws -> Bool {
        try Self.check(name)
        return try withOpened { try $0.values.remove(name) }
    }

    /// The names that have a value, with its type, ordered by their bytes.
    public var dataNames: [DataVaultDataName] {
        get throws { try withOpened { try $0.values.names() } }
    }

    private static func check(_ name: String, size: Int = 0) throws {
        guard !name.isEmpty else { throw DataVaultError.invalidArg(reason: "the name is empty") }
        guard name.utf8.count <= nameLengthLimit else { throw DataVaultError.nameTooLong }
        guard size <= valueSizeLimit else { throw DataVaultError.valueTooLarge }
    }
}
