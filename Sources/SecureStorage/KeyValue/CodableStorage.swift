public import Foundation

/// Turns `Codable` values into bytes and back.
public protocol CoderProtocol: Sendable {
    /// The bytes of a value.
    ///
    /// - Parameter value: Any value.
    /// - Returns: The bytes.
    /// - Throws: What the encoder throws.
    func encode<T: Encodable>(_ value: T) throws -> Data

    /// The value of bytes.
    ///
    /// - Parameters:
    ///   - type: The type that was encoded.
    ///   - data: The bytes.
    /// - Returns: The value.
    /// - Throws: What the decoder throws.
    func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T
}

/// Codes values as binary property lists, any value as the one element of an array.
public struct PlistCoder: CoderProtocol {
    /// A coder.
    public init() {}

    /// The property list of a value.
    ///
    /// - Parameter value: Any value that is nested at most 63 deep.
    /// - Returns: The bytes.
    /// - Throws: What `PropertyListEncoder` throws; `.typeConversionFailed` for a value that is
    ///   nested deeper.
    public func encode<T: Encodable>(_ value: T) throws -> Data {
        try NestingProbe.check(value)
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let data = try encoder.encode([value])
        // What cannot be read is not written.
        _ = try BinaryPropertyList.root(of: data)
        return data
    }

    /// The value of a property list.
    ///
    /// - Parameters:
    ///   - type: The type that was encoded.
    ///   - data: The bytes.
    /// - Returns: The value.
    /// - Throws: What `PropertyListDecoder` throws; `.typeConversionFailed` for an empty list, and
    ///   for bytes that are no sound binary property list.
    public func decode<T: Decodable>(_ type: T.Type, from data: Data) throws -> T {
        // Foundation's decoder follows a list that contains itself, and one of any depth, until the
        // stack is full.
        _ = try BinaryPropertyList.root(of: data)
        guard let value = try PropertyListDecoder().decode([T].self, from: data).first else {
            throw SecureStorageError.typeConversionFailed
        }
        return value
    }
}

/// `Codable` values over any store of bytes.
public struct CodableStorage {
    private let store: any DataStoring
    private let coder: any CoderProtocol

    /// Puts a coder before a store.
    ///
    /// - Parameters:
    ///   - store: Where the bytes go.
    ///   - coder: How values become bytes. Default: binary property lists.
    public init(store: any DataStoring, coder: any CoderProtocol = PlistCoder()) {
        self.store = store
        self.coder = coder
    }

    /// Reads a value.
    ///
    /// - Parameters:
    ///   - type: The type that was put.
    ///   - key: Any text.
    /// - Returns: nil for an absent key.
    /// - Throws: What the store and the coder throw.
    public func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? {
        try store.data(for: key).map { try coder.decode(type, from: $0) }
    }

    /// Stores a value.
    ///
    /// - Parameters:
    ///   - value: Any value.
    ///   - key: Any text.
    /// - Throws: What the store and the coder throw.
    public func put<T: Codable>(_ value: T, for key: String) throws {
        try store.put(data: coder.encode(value), for: key)
    }

    /// Removes a value.
    ///
    /// - Parameter key: Any text.
    /// - Throws: What the store throws.
    public func remove(for key: String) throws {
        try store.removeData(for: key)
    }
}
