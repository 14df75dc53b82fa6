internal import Foundation

/// Measures how deeply a value's `encode(to:)` recurses, and stores nothing.
///
/// Foundation's encoders overflow the stack and end the process. This one uses less stack per level
/// and stops at a limit.
struct NestingProbe: Encoder {
    /// The maximum number of nested calls.
    ///
    /// Each JSON level takes one or two calls: an enum adds a call around its payload's.
    private static let maximumDepth = 128

    fileprivate let depth: Int
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// - Throws: `.typeConversionFailed` for a value that is nested too deeply; errors thrown by
    ///   its `encode(to:)`.
    static func check<T: Encodable>(_ value: T) throws {
        try top.descend(into: value, nil)
    }

    /// The probe of a whole value.
    static let top = NestingProbe(depth: 0, codingPath: [])

    fileprivate func descend<T: Encodable>(into value: T, _ key: (any CodingKey)?) throws {
        // The encoders encode these as a whole.
        if value is Date || value is Data || value is URL || value is Decimal { return }
        guard depth < Self.maximumDepth else { throw SecureStorageError.typeConversionFailed }
        let path = key.map { codingPath + [$0] } ?? codingPath
        try value.encode(to: NestingProbe(depth: depth + 1, codingPath: path))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(ProbedKeys(probe: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { ProbedElements(probe: self) }

    func singleValueContainer() -> any SingleValueEncodingContainer { ProbedValue(probe: self) }
}

private struct ProbedKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let probe: NestingProbe
    var codingPath: [any CodingKey] { probe.codingPath }

    func encodeNil(forKey key: Key) {}
    func encode(_ value: Bool, forKey key: Key) {}
    func encode(_ value: String, forKey key: Key) {}
    func encode(_ value: Double, forKey key: Key) {}
    func encode(_ value: Float, forKey key: Key) {}
    func encode(_ value: Int, forKey key: Key) {}
    func encode(_ value: Int8, forKey key: Key) {}
    func encode(_ value: Int16, forKey key: Key) {}
    func encode(_ value: Int32, forKey key: Key) {}
    func encode(_ value: Int64, forKey key: Key) {}
    func encode(_ value: UInt, forKey key: Key) {}
    func encode(_ value: UInt8, forKey key: Key) {}
    func encode(_ value: UInt16, forKey key: Key) {}
    func encode(_ value: UInt32, forKey key: Key) {}
    func encode(_ value: UInt64, forKey key: Key) {}
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        try probe.descend(into: value, key)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> { probe.container(keyedBy: type) }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        probe.unkeyedContainer()
    }
    func superEncoder() -> any Encoder { probe }
    func superEncoder(forKey key: Key) -> any Encoder { probe }
}

private struct ProbedElements: UnkeyedEncodingContainer {
    let probe: NestingProbe
    private(set) var count = 0
    var codingPath: [any CodingKey] { probe.codingPath }

    init(probe: NestingProbe) { self.probe = probe }

    mutating func encodeNil() { count += 1 }
    mutating func encode(_ value: Bool) { count += 1 }
    mutating func encode(_ value: String) { count += 1 }
    mutating func encode(_ value: Double) { count += 1 }
    mutating func encode(_ value: Float) { count += 1 }
    mutating func encode(_ value: Int) { count += 1 }
    mutating func encode(_ value: Int8) { count += 1 }
    mutating func encode(_ value: Int16) { count += 1 }
    mutating func encode(_ value: Int32) { count += 1 }
    mutating func encode(_ value: Int64) { count += 1 }
    mutating func encode(_ value: UInt) { count += 1 }
    mutating func encode(_ value: UInt8) { count += 1 }
    mutating func encode(_ value: UInt16) { count += 1 }
    mutating func encode(_ value: UInt32) { count += 1 }
    mutating func encode(_ value: UInt64) { count += 1 }
    mutating func encode<T: Encodable>(_ value: T) throws {
        count += 1
        try probe.descend(into: value, nil)
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        count += 1
        return probe.container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        count += 1
        return probe.unkeyedContainer()
    }
    mutating func superEncoder() -> any Encoder {
        count += 1
        return probe
    }
}

private struct ProbedValue: SingleValueEncodingContainer {
    let probe: NestingProbe
    var codingPath: [any CodingKey] { probe.codingPath }

    func encodeNil() {}
    func encode(_ value: Bool) {}
    func encode(_ value: String) {}
    func encode(_ value: Double) {}
    func encode(_ value: Float) {}
    func encode(_ value: Int) {}
    func encode(_ value: Int8) {}
    func encode(_ value: Int16) {}
    func encode(_ value: Int32) {}
    func encode(_ value: Int64) {}
    func encode(_ value: UInt) {}
    func encode(_ value: UInt8) {}
    func encode(_ value: UInt16) {}
    func encode(_ value: UInt32) {}
    func encode(_ value: UInt64) {}
    func encode<T: Encodable>(_ value: T) throws { try probe.descend(into: value, nil) }
}
