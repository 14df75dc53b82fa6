internal import Crypto
public import Foundation
internal import SecureStoragePlatform

/// One data key, wrapped by one or several key-encryption keys: of the device, a password, a
/// recovery code.
///
/// Any one of them unwraps it. Adding, removing and rewrapping change records of the set, not data.
/// Store ``bytes-swift.property`` after each change.
///
/// An older copy of a set still opens with the keys that wrapped it then. If a key or a password
/// becomes known to others, make a new data key and seal the data again.
public struct WrappedKeySet: Sendable, Equatable {
    /// The name of the data key.
    public let dataKeyName: String

    /// The records, in the order in which they were added; 1 to 32.
    public private(set) var records: [WrappedKey]

    /// A value that only the data key yields and that reveals nothing about it: ties all records to
    /// the same key.
    private let checkValue: Data

    static let magic: StaticString = "SSWS"
    static let version: UInt8 = 1
    static let mostRecords = 32
    static let checkLength = 16
    private static let lengths = 32...(32 + 255 + mostRecords * (2 + WrappedKey.lengths.upperBound))

    /// Creates a set of one record.
    ///
    /// - Parameters:
    ///   - dataKey: The key to wrap.
    ///   - source: The source of the key to wrap it with.
    /// - Throws: `EnvelopeError`.
    public init(
        wrapping dataKey: DataEncryptionKey, with source: some KeyEncryptionKeySource
    ) throws {
        dataKeyName = dataKey.name
        checkValue = try Self.checkValue(dataKey)
        records = [try WrappedKey(wrapping: dataKey, with: source.makeKey())]
    }

    /// Unwraps the data key.
    ///
    /// - Parameter source: One of the sources that it was wrapped with.
    /// - Returns: The data key.
    /// - Throws: `EnvelopeError`: `.noSuchKey` if the set has no record of this name and kind;
    ///   `.wrongKey`, `.wrongPassword` or `.wrongRecoveryCode`.
    public func unwrap(with source: some KeyEncryptionKeySource) throws -> DataEncryptionKey {
        let key = try records[index(of: source.name)].unwrap(with: source)
        guard try isOurs(key) else {
            throw EnvelopeError.damaged(reason: "the record's data key is not the one of its set")
        }
        return key
    }

    /// Adds a record that wraps the data key with another source.
    ///
    /// - Parameters:
    ///   - source: A source with a name that the set does not have yet.
    ///   - dataKey: The key of this set, as returned by ``unwrap(with:)``.
    /// - Throws: `EnvelopeError`: `.duplicateKey`, `.otherDataKey`, or `.limitReached` for more
    ///   than 32 records.
    public mutating func add(
        _ source: some KeyEncryptionKeySource, for dataKey: DataEncryptionKey
    ) throws {
        guard !records.contains(where: { $0.keyEncryptionKeyName == source.name }) else {
            throw EnvelopeError.duplicateKey(name: source.name)
        }
        guard records.count < Self.mostRecords else {
            throw EnvelopeError.limitReached(
                reason: "a set has at most \(Self.mostRecords) records")
        }
        guard try isOurs(dataKey) else { throw EnvelopeError.otherDataKey(name: dataKey.name) }
        records.append(try WrappedKey(wrapping: dataKey, with: source.makeKey()))
    }

    /// Removes a record.
    ///
    /// - Parameter name: The name of its key-encryption key.
    /// - Throws: `EnvelopeError`: `.noSuchKey`, or `.lastKey` for the only record.
    public mutating func remove(name: String) throws {
        let index = try index(of: name)
        guard records.count > 1 else { throw EnvelopeError.lastKey(name: name) }
        records.remove(at: index)
    }

    /// Rewraps one record, for instance with a new key of the device or a new password.
    ///
    /// - Parameters:
    ///   - old: The current source of the record's wrapping key.
    ///   - new: The new source; its name may be the same.
    /// - Returns: The data key, which is unchanged.
    /// - Throws: As ``unwrap(with:)``, and `.duplicateKey`; the set is then unchanged.
    @discardableResult
    public mutating func rewrap(
        from old: some KeyEncryptionKeySource, to new: some KeyEncryptionKeySource
    ) throws -> DataEncryptionKey {
        let index = try index(of: old.name)
        let others = records.indices.filter { $0 != index }
        guard !others.contains(where: { records[$0].keyEncryptionKeyName == new.name }) else {
            throw EnvelopeError.duplicateKey(name: new.name)
        }
        let key = try unwrap(with: old)
        records[index] = try WrappedKey(wrapping: key, with: new.makeKey())
        return key
    }

    /// Unwraps with a password, and rewraps if its record is weaker than a new one would be.
    ///
    /// - Parameter password: The password.
    /// - Returns: The data key, and whether the set was changed and should be stored.
    /// - Throws: As ``unwrap(with:)``.
    public mutating func upgrade(
        unlocking password: PasswordKey
    ) throws -> (key: DataEncryptionKey, changed: Bool) {
        let index = try index(of: password.name)
        let key = try unwrap(with: password)
        guard let stronger = records[index].strongerParameters(than: password.parameters) else {
            return (key, false)
        }
        records[index] = try WrappedKey(wrapping: key, with: password.with(stronger).makeKey())
        return (key, true)
    }

    private func index(of name: String) throws -> Int {
        guard let index = records.firstIndex(where: { $0.keyEncryptionKeyName == name }) else {
            throw EnvelopeError.noSuchKey(name: name)
        }
        return index
    }

    private func isOurs(_ key: DataEncryptionKey) throws -> Bool {
        try key.name == dataKeyName && Self.checkValue(key) == checkValue
    }

    private static func checkValue(_ key: DataEncryptionKey) throws -> Data {
        try key.subkey("check").withUnsafeBytes { Data($0.prefix(checkLength)) }
    }
}

extension WrappedKeySet {
    /// The encoded set, for a file or a database value.
    public var bytes: Data {
        var writer = RecordFrame.begin(Self.magic, version: Self.version)
        writer.name(dataKeyName)
        writer.raw(checkValue)
        writer.byte(UInt8(truncatingIfNeeded: records.count))
        for record in records {
            let bytes = record.bytes
            writer.integer(UInt16(truncatingIfNeeded: bytes.count))
            writer.raw(bytes)
        }
        return RecordFrame.end(writer)
    }

    /// Decodes a set.
    ///
    /// - Parameter bytes: As returned by ``bytes-swift.property``; other bytes cause an error,
    ///   never a trap.
    /// - Throws: `EnvelopeError`: `.damaged`, `.unsupportedVersion`, `.unacceptableParameters`.
    public init(bytes: Data) throws {
        var reader = try RecordFrame.open(
            bytes, Self.magic, version: Self.version, lengths: Self.lengths)
        let name = try reader.name()
        checkValue = Data(try reader.take(Self.checkLength))
        let count = Int(try reader.byte())
        guard (1...Self.mostRecords).contains(count) else {
            throw EnvelopeError.damaged(reason: "the set has \(count) records")
        }
        var records: [WrappedKey] = []
        for _ in 0..<count {
            let length = try reader.integer(UInt16.self)
            let record = try WrappedKey(bytes: Data(try reader.take(Int(length))))
            guard record.dataKeyName == name,
                !records.contains(where: {
                    $0.keyEncryptionKeyName == record.keyEncryptionKeyName
                })
            else { throw EnvelopeError.damaged(reason: "a record does not belong to its set") }
            records.append(record)
        }
        try reader.expectEnd()
        dataKeyName = name
        self.records = records
    }
}
