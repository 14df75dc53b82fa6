public import Foundation

// Async versions of the getters in `SecureKeyValueStore+Typed`; see `SecureKeyValueStore+Async`.

extension SecureKeyValueStore {
    /// Reads a `String`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getString(_ key: String, defaultValue: String? = nil) async throws -> String? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int8`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getInt8(_ key: String, defaultValue: Int8? = nil) async throws -> Int8? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int16`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getInt16(_ key: String, defaultValue: Int16? = nil) async throws -> Int16? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int32`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getInt32(_ key: String, defaultValue: Int32? = nil) async throws -> Int32? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int64`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getInt64(_ key: String, defaultValue: Int64? = nil) async throws -> Int64? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getInt(_ key: String, defaultValue: Int? = nil) async throws -> Int? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt8`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getUInt8(_ key: String, defaultValue: UInt8? = nil) async throws -> UInt8? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt16`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getUInt16(_ key: String, defaultValue: UInt16? = nil) async throws -> UInt16? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt32`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getUInt32(_ key: String, defaultValue: UInt32? = nil) async throws -> UInt32? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt64`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getUInt64(_ key: String, defaultValue: UInt64? = nil) async throws -> UInt64? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getUInt(_ key: String, defaultValue: UInt? = nil) async throws -> UInt? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `Float`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getFloat(_ key: String, defaultValue: Float? = nil) async throws -> Float? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `Double`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getDouble(_ key: String, defaultValue: Double? = nil) async throws -> Double? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `Bool`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit;
    ///   `CancellationError`.
    public func getBool(_ key: String, defaultValue: Bool? = nil) async throws -> Bool? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads bytes that were stored as `Data` or `NSData`, or returns `defaultValue` for an absent
    /// key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The bytes to return instead.
    /// - Returns: The bytes.
    /// - Throws: `.typeConversionFailed` for a value of another kind; `CancellationError`.
    public func getData(
        _ key: String, defaultValue: sending NSData? = nil
    ) async throws -> sending NSData? {
        guard let entry = try await entry(key) else { return defaultValue }
        return try Self.data(entry) ?? defaultValue
    }
}
