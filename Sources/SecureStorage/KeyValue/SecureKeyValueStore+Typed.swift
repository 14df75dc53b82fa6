// The reference's named getters. Each reads a plain value, as `get(_:)` does.

extension SecureKeyValueStore {
    /// Reads a `String`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getString(_ key: String) throws -> String? {
        try get(key)
    }

    /// Reads a `String`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getString(_ key: String, defaultValue: String?) throws -> String? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int8`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt8(_ key: String) throws -> Int8? {
        try get(key)
    }

    /// Reads an `Int8`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt8(_ key: String, defaultValue: Int8?) throws -> Int8? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int16`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt16(_ key: String) throws -> Int16? {
        try get(key)
    }

    /// Reads an `Int16`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt16(_ key: String, defaultValue: Int16?) throws -> Int16? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int32`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt32(_ key: String) throws -> Int32? {
        try get(key)
    }

    /// Reads an `Int32`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt32(_ key: String, defaultValue: Int32?) throws -> Int32? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int64`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt64(_ key: String) throws -> Int64? {
        try get(key)
    }

    /// Reads an `Int64`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt64(_ key: String, defaultValue: Int64?) throws -> Int64? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads an `Int`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt(_ key: String) throws -> Int? {
        try get(key)
    }

    /// Reads an `Int`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getInt(_ key: String, defaultValue: Int?) throws -> Int? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt8`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt8(_ key: String) throws -> UInt8? {
        try get(key)
    }

    /// Reads a `UInt8`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt8(_ key: String, defaultValue: UInt8?) throws -> UInt8? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt16`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt16(_ key: String) throws -> UInt16? {
        try get(key)
    }

    /// Reads a `UInt16`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt16(_ key: String, defaultValue: UInt16?) throws -> UInt16? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt32`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt32(_ key: String) throws -> UInt32? {
        try get(key)
    }

    /// Reads a `UInt32`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt32(_ key: String, defaultValue: UInt32?) throws -> UInt32? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt64`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt64(_ key: String) throws -> UInt64? {
        try get(key)
    }

    /// Reads a `UInt64`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt64(_ key: String, defaultValue: UInt64?) throws -> UInt64? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `UInt`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt(_ key: String) throws -> UInt? {
        try get(key)
    }

    /// Reads a `UInt`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getUInt(_ key: String, defaultValue: UInt?) throws -> UInt? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `Float`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getFloat(_ key: String) throws -> Float? {
        try get(key)
    }

    /// Reads a `Float`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getFloat(_ key: String, defaultValue: Float?) throws -> Float? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `Double`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getDouble(_ key: String) throws -> Double? {
        try get(key)
    }

    /// Reads a `Double`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getDouble(_ key: String, defaultValue: Double?) throws -> Double? {
        try get(key, defaultValue: defaultValue)
    }

    /// Reads a `Bool`.
    ///
    /// - Parameter key: Any string.
    /// - Returns: The value; nil for an absent key or an explicit nil.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getBool(_ key: String) throws -> Bool? {
        try get(key)
    }

    /// Reads a `Bool`, or returns `defaultValue` for an absent key or an explicit nil.
    ///
    /// - Parameters:
    ///   - key: Any string.
    ///   - defaultValue: The value to return instead.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a value of another kind or one that does not fit.
    public func getBool(_ key: String, defaultValue: Bool?) throws -> Bool? {
        try get(key, defaultValue: defaultValue)
    }
}
