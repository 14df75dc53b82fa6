public import Foundation

/// A coder that converts `Codable` values to bytes and back.
public protocol CoderProtocol: Sendable {
    /// Encodes a value.
    ///
    /// - Parameter value: Any value.
    /// - Returns: The bytes.
    /// - Throws: The encoder's errors.
    func encode<T: Encodable>(_ value: T) throws -> Data

    /// Decodes a value.
    ///
    /// - Parameters:
    ///   - type: The type that was encoded.
    ///   - data: The bytes.
    /// - Returns: The value.
    /// - Throws: The decoder's errors.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

/// A coder for binary property lists that hold the value as the only element of an array.
public struct PlistCoder: CoderProtocol {
    /// Creates a coder.
    public init() {}

    /// Encodes a value as a property list.
    ///
    /// - Parameter value: Any value that is nested at most 63 levels deep.
    /// - Returns: The bytes.
    /// - Throws: The errors of `PropertyListEncoder`; `.typeConversionFailed` for a value that is
    ///   nested deeper.
    public func encode<T: Encodable>(_ value: T) throws -> Data {
        try NestingProbe.check(value)
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let data = try encoder.encode([value])
        // Never write a list that cannot be read back.
        _ = try BinaryPropertyList.root(of: data)
        return data
    }

    /// Decodes a value from a property list.
    ///
    /// - Parameters:
    ///   - type: The type that was encoded.
    ///   - data: The bytes.
    /// - Returns: The value.
    /// - Throws: The errors of `PropertyListDecoder`; `.typeConversionFailed` for an empty list and
    ///   for bytes that are not a valid binary property list.
    public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
        // Foundation's decoder overflows the stack on a list that contains itself or is nested too
        // deep.
        _ = try BinaryPropertyList.root(of: data)
        guard let value = try PropertyListDecoder().decode([T].self, from: data).first else {
            throw SecureStorageError.typeConversionFailed
        }
        return value
    }
}

/// A store of `Codable` values on top of any store of bytes.
public struct CodableStorage {
    private let store: any DataStoring
    private let coder: any CoderProtocol

    /// Creates a store of values from a store of bytes and a coder.
    ///
    /// - Parameters:
    ///   - store: The store that holds the bytes.
    ///   - coder: The coder that converts values to bytes. Default: binary property lists.
    public init(store: any DataStoring, coder: any CoderProtocol = PlistCoder()) {
        self.store = store
        self.coder = coder
    }

    /// Reads a value.
    ///
    /// - Parameters:
    ///   - type: The type that was stored.
    ///   - key: Any string.
    /// - Returns: The value; nil for an absent key.
    /// - Throws: The errors of the store and the coder.
    public func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? {
        try store.data(for: key).map { try coder.decode(type, from: $0) }
    }

    /// Stores a value.
    ///
    /// - Parameters:
    ///   - value: Any value.
    ///   - key: Any string.
    /// - Throws: The errors of the store and the coder.
    public func put<T: Codable>(_ value: T, for key: String) throws {
        try store.put(data: coder.encode(value), for: key)
    }

    /// Removes a value.
    ///
    /// - Parameter key: Any string.
    /// - Throws: The errors of the store.
    public func remove(for key: String) throws {
        try store.removeData(for: key)
    }
}
