internal import Foundation
internal import SecureStoragePlatform

/// The reason why bytes are not in the expected form.
package struct CBORError: Error, Equatable {
    package var reason: String
    package init(_ reason: String) { self.reason = reason }
}

/// Reads CBOR without trusting any number in it, and only in its deterministic form: any other
/// encoding is an error, so one content has one form.
///
/// No call reads an item of any kind, so nesting is limited by the caller's code.
package struct CBORReader {
    private var bytes: ByteReader

    package init(_ bytes: [UInt8]) { self.bytes = ByteReader(bytes[...]) { CBORError($0) } }

    package var isAtEnd: Bool { bytes.count == 0 }

    package func expectEnd() throws { try bytes.expectEnd() }

    package mutating func unsigned() throws -> UInt64 {
        let (major, value) = try head()
        guard major == 0 else { throw CBORError("no unsigned number") }
        return value
    }

    package mutating func unsigned<T: FixedWidthInteger>(as type: T.Type) throws -> T {
        guard let value = T(exactly: try unsigned()) else { throw CBORError("number too large") }
        return value
    }

    package mutating func signed() throws -> Int64 {
        let (major, value) = try head()
        guard major <= 1, value <= UInt64(Int64.max) else { throw CBORError("no number") }
        return major == 0 ? Int64(value) : ~Int64(value)
    }

    package mutating func data() throws -> ArraySlice<UInt8> {
        let (major, count) = try head()
        guard major == 2 else { throw CBORError("no byte string") }
        return try bytes.take(count)
    }

    package mutating func data(count: Int) throws -> ArraySlice<UInt8> {
        let data = try data()
        guard data.count == count else { throw CBORError("byte string of another length") }
        return data
    }

    package mutating func text() throws -> String {
        let (major, count) = try head()
        guard major == 3 else { throw CBORError("no text") }
        let slice = try bytes.take(count)
        // `String(validating:)` is newer than the oldest systems. Decoding repairs invalid UTF-8,
        // so the bytes then differ.
        var text = String(decoding: slice, as: UTF8.self)
        let isSame = slice.withUnsafeBytes { slice in
            text.withUTF8 { text in
                guard text.count == slice.count, let first = text.baseAddress,
                    let second = slice.baseAddress
                else { return text.count == slice.count }
                return memcmp(first, second, text.count) == 0
            }
        }
        guard isSame else { throw CBORError("text is not UTF-8") }
        return text
    }

    /// The number of items of an array, which follow; each has at least a byte.
    ///
    /// An item in memory may be much larger than a byte: callers allocate memory as they read.
    package mutating func array() throws -> Int {
        let (major, count) = try head()
        guard major == 4 else { throw CBORError("no array") }
        guard count <= UInt64(bytes.count) else { throw CBORError("array is too long") }
        return Int(count)
    }

    package mutating func array(count: Int) throws {
        guard try array() == count else { throw CBORError("array of another length") }
    }

    package mutating func array(atMost limit: Int) throws -> Int {
        let count = try array()
        guard count <= limit else { throw CBORError("array is too long") }
        return count
    }

    package mutating func bool() throws -> Bool {
        switch try bytes.byte() {
        case 0xf4: return false
        case 0xf5: return true
        default: throw CBORError("no truth value")
        }
    }

    /// Skips a null, if the next item is one.
    package mutating func skipNull() -> Bool { consume(0xf6) }

    /// Skips a true, if the next item is one.
    package mutating func skipTrue() -> Bool { consume(0xf5) }

    /// Skips a false, if the next item is one.
    package mutating func skipFalse() -> Bool { consume(0xf4) }

    private mutating func consume(_ item: UInt8) -> Bool {
        guard bytes.next == item else { return false }
        _ = try? bytes.byte()
        return true
    }

    package mutating func double() throws -> Double {
        let float: CBORFloat
        switch try bytes.byte() {
        case 0xf9: float = .half(try bytes.integer(UInt16.self))
        case 0xfa: float = .single(try bytes.integer(UInt32.self))
        case 0xfb: float = .double(try bytes.integer(UInt64.self))
        default: throw CBORError("no floating-point number")
        }
        let value = float.value
        guard CBORFloat(value) == float else {
            throw CBORError("a number is not in its shortest form")
        }
        return value
    }

    /// The kind of the next item; nil at the end.
    package var nextMajor: UInt8? { bytes.next.map { $0 >> 5 } }

    private mutating func head() throws -> (major: UInt8, value: UInt64) {
        let first = try bytes.byte()
        let value: UInt64
        let least: UInt64
        switch first & 31 {
        case let small where small < 24: (value, least) = (UInt64(small), 0)
        case 24: (value, least) = (UInt64(try bytes.byte()), 24)
        case 25: (value, least) = (UInt64(try bytes.integer(UInt16.self)), 0x100)
        case 26: (value, least) = (UInt64(try bytes.integer(UInt32.self)), 0x1_0000)
        case 27: (value, least) = (try bytes.integer(UInt64.self), 0x1_0000_0000)
        default: throw CBORError("an item of unknown or indefinite length")
        }
        guard value >= least else { throw CBORError("a number is not in its shortest form") }
        return (first >> 5, value)
    }
}
