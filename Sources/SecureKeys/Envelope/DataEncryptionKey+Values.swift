public import Foundation
internal import SecureStoragePlatform

/// The row of a table that a sealed value belongs to: the value of its primary key.
public enum RowIdentity: Sendable, Hashable {
    /// A row with an integer key.
    case integer(Int64)
    /// A row with a text key: its UTF-8 bytes, without normalisation.
    case text(String)
}

extension RowIdentity: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    /// Creates the identity of a row with an integer key.
    ///
    /// - Parameter value: The key.
    public init(integerLiteral value: Int64) { self = .integer(value) }

    /// Creates the identity of a row with a text key.
    ///
    /// - Parameter value: The key.
    public init(stringLiteral value: String) { self = .text(value) }
}

extension DataEncryptionKey {
    /// The number of bytes that sealing adds to a plaintext: version 1, nonce 24, tag 16.
    public static let valueOverhead = 1 + ExtendedNonceCipher.overhead

    private static let valueVersion: UInt8 = 1
    private static let longestValue = 1 << 30

    /// Seals a value for one place of a database.
    ///
    /// Uses XAES-256-GCM under a key derived from this one, with a random nonce of 192 bits, so
    /// values need not be counted. The place and the name of the key are authenticated: a
    /// ciphertext that is moved to another row, column or table does not open. The row's key must
    /// therefore be known before sealing.
    ///
    /// The length is visible, and an older ciphertext of the same place opens too.
    ///
    /// - Parameters:
    ///   - plaintext: At most 1 GiB; for longer data use a stream: ``SealedStreamWriter``.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: ``valueOverhead`` bytes more than the plaintext.
    /// - Throws: `EnvelopeError.cleared`, or `.limitReached` for a longer plaintext.
    public func seal(
        _ plaintext: Data, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        guard plaintext.count <= Self.longestValue else {
            throw EnvelopeError.limitReached(
                reason: "a value of \(plaintext.count) bytes; seal more than 1 GiB as a stream")
        }
        return try valueCipher().seal(
            plaintext, authenticating: place(table, column, row), after: [Self.valueVersion])
    }

    /// Seals a secret for one place of a database: see ``seal(_:table:column:row:)-(Data,_,_,_)``.
    ///
    /// - Parameters:
    ///   - secret: At most 1 GiB.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: ``valueOverhead`` bytes more than the secret.
    /// - Throws: `EnvelopeError.cleared`, or `.limitReached` for a longer secret.
    public func seal(
        _ secret: SecretBytes, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        guard secret.count <= Self.longestValue else {
            throw EnvelopeError.limitReached(reason: "a secret of \(secret.count) bytes")
        }
        return try secret.withUnsafeBytes { secret in
            try valueCipher().seal(
                secret, authenticating: place(table, column, row), after: [Self.valueVersion])
        }
    }

    /// Opens a value that was sealed for the same place.
    ///
    /// - Parameters:
    ///   - sealed: The bytes returned by `seal`.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: The plaintext. Its memory is not cleared: see
    ///   ``openSecret(_:table:column:row:)``.
    /// - Throws: `EnvelopeError`: `.notAuthentic` if it was changed, moved or sealed with another
    ///   key, `.damaged` if it is too short, `.unsupportedVersion`, `.cleared`.
    public func open(
        _ sealed: Data, table: String, column: String, row: RowIdentity
    ) throws -> Data {
        guard sealed.count >= Self.valueOverhead, let version = sealed.first else {
            throw EnvelopeError.damaged(
                reason: "a sealed value has at least \(Self.valueOverhead) bytes")
        }
        guard version == Self.valueVersion else {
            throw EnvelopeError.unsupportedVersion(Int(version))
        }
        guard
            let plaintext = try valueCipher().open(
                sealed.dropFirst(), authenticating: place(table, column, row))
        else {
            throw EnvelopeError.notAuthentic(
                reason: "the value was changed, or belongs to another row, column, table or key")
        }
        return plaintext
    }

    /// Opens a secret that was sealed for the same place; its bytes are cleared after use.
    ///
    /// Foundation's `Data` may leave a copy of a secret shorter than 15 bytes in freed memory.
    ///
    /// - Parameters:
    ///   - sealed: The bytes returned by `seal`.
    ///   - table: The table's name.
    ///   - column: The column's name.
    ///   - row: The row's key.
    /// - Returns: The secret, in its own memory; this takes a few microseconds longer than `open`.
    /// - Throws: As ``open(_:table:column:row:)``.
    public func openSecret(
        _ sealed: Data, table: String, column: String, row: RowIdentity
    ) throws -> SecretBytes {
        var plaintext = try open(sealed, table: table, column: column, row: row)
        return SecretBytes(erasing: &plaintext)
    }

    private func valueCipher() throws -> ExtendedNonceCipher {
        try material.cipher { try ExtendedNonceCipher(key: Self.subkey(of: $0, "values")) }
    }

    /// Returns the data that a value is authenticated with.
    private func place(_ table: String, _ column: String, _ row: RowIdentity) -> [UInt8] {
        var writer = ByteWriter(capacity: 160)
        writer.part("SecureStorage value")
        writer.byte(Self.valueVersion)
        writer.part(name)
        writer.part(table)
        writer.part(column)
        switch row {
        case .integer(let number):
            writer.byte(0)
            writer.integer(number)
        case .text(let text):
            writer.byte(1)
            writer.part(text)
        }
        return writer.bytes
    }
}
