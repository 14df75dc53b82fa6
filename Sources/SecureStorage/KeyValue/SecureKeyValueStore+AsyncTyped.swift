public import Foundation

// The getters of `SecureKeyValueStore+Typed` for tasks: see `SecureKeyValueStore+Async`.

extension SecureKeyValueStore {
    /// Reads a `String`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getString(_ key: String) async throws -> String? {
        try await get(key)
    }

    /// Reads a `String`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getString(_ key: String, defaultValue: String?) async throws -> String? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int8`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt8(_ key: String) async throws -> Int8? {
        try await get(key)
    }

    /// Reads an `Int8`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt8(_ key: String, defaultValue: Int8?) async throws -> Int8? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int16`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt16(_ key: String) async throws -> Int16? {
        try await get(key)
    }

    /// Reads an `Int16`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt16(_ key: String, defaultValue: Int16?) async throws -> Int16? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int32`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt32(_ key: String) async throws -> Int32? {
        try await get(key)
    }

    /// Reads an `Int32`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt32(_ key: String, defaultValue: Int32?) async throws -> Int32? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int64`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt64(_ key: String) async throws -> Int64? {
        try await get(key)
    }

    /// Reads an `Int64`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt64(_ key: String, defaultValue: Int64?) async throws -> Int64? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt(_ key: String) async throws -> Int? {
        try await get(key)
    }

    /// Reads an `Int`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getInt(_ key: String, defaultValue: Int?) async throws -> Int? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt8`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt8(_ key: String) async throws -> UInt8? {
        try await get(key)
    }

    /// Reads a `UInt8`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt8(_ key: String, defaultValue: UInt8?) async throws -> UInt8? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt16`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt16(_ key: String) async throws -> UInt16? {
        try await get(key)
    }

    /// Reads a `UInt16`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt16(_ key: String, defaultValue: UInt16?) async throws -> UInt16? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt32`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt32(_ key: String) async throws -> UInt32? {
        try await get(key)
    }

    /// Reads a `UInt32`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt32(_ key: String, defaultValue: UInt32?) async throws -> UInt32? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt64`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt64(_ key: String) async throws -> UInt64? {
        try await get(key)
    }

    /// Reads a `UInt64`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt64(_ key: String, defaultValue: UInt64?) async throws -> UInt64? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt(_ key: String) async throws -> UInt? {
        try await get(key)
    }

    /// Reads a `UInt`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getUInt(_ key: String, defaultValue: UInt?) async throws -> UInt? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `Float`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getFloat(_ key: String) async throws -> Float? {
        try await get(key)
    }

    /// Reads a `Float`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getFloat(_ key: String, defaultValue: Float?) async throws -> Float? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `Double`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getDouble(_ key: String) async throws -> Double? {
        try await get(key)
    }

    /// Reads a `Double`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getDouble(_ key: String, defaultValue: Double?) async throws -> Double? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads a `Bool`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getBool(_ key: String) async throws -> Bool? {
        try await get(key)
    }

    /// Reads a `Bool`, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The value to give instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind, or that does not fit;
    ///   `CancellationError`.
    public func getBool(_ key: String, defaultValue: Bool?) async throws -> Bool? {
        try await get(key, defaultValue: defaultValue)
    }

    /// Reads bytes that were put as `Data` or as `NSData`; nil for an absent key and for an explicit nil.
    ///
    /// - Parameter key: Any text.
    /// - Returns: The bytes.
    /// - Throws: `.typeConversionFailed` for a value of another kind; `CancellationError`.
    public func getData(_ key: String) async throws -> sending NSData? {
        guard let entry = try await entry(key) else { return nil }
        return try Self.data(entry)
    }

    /// Reads bytes, or gives `defaultValue` for an absent key and an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any text.
    ///   - defaultValue: The bytes to give instead.
    /// - Returns: The bytes.
    /// - Throws: `.typeConversionFailed` for a value of another kind; `CancellationError`.
    public func getData(
        _ key: String, defaultValue: sending NSData?
    ) async throws -> sending NSData? {
        if let data = try await getData(key) { return data }
        return defaultValue
    }
}
