internal import Foundation

/// Writes CBOR ([RFC 8949](https://www.rfc-editor.org/rfc/rfc8949)) in its deterministic form
/// (section 4.2): shortest lengths, definite ones only.
package struct CBORWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func unsigned(_ value: UInt64) { head(0, value) }

    package mutating func signed(_ value: Int64) {
        if value >= 0 { head(0, UInt64(value)) } else { head(1, UInt64(~value)) }
    }

    package mutating func data(_ value: some Collection<UInt8>) {
        head(2, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    package mutating func text(_ value: String) {
        var value = value
        value.withUTF8 {
            head(3, UInt64($0.count))
            bytes.append(contentsOf: $0)
        }
    }

    /// Appends what another writer has written.
    package mutating func append(_ other: CBORWriter) { bytes += other.bytes }

    /// Begins an array of so many items, which follow.
    package mutating func array(_ count: Int) { head(4, UInt64(count)) }

    package mutating func bool(_ value: Bool) { bytes.append(value ? 0xf5 : 0xf4) }

    package mutating func null() { bytes.append(0xf6) }

    /// A floating-point number, in the shortest form that keeps its value; NaN has one form.
    package mutating func double(_ value: Double) {
        if value.isNaN {
            bytes += [0xf9, 0x7e, 0x00]
        } else if let half = HalfFloat.bits(of: value) {
            bytes.append(0xf9)
            big(half)
        } else if Double(Float(value)) == value {
            bytes.append(0xfa)
            big(Float(value).bitPattern)
        } else {
            bytes.append(0xfb)
            big(value.bitPattern)
        }
    }

    private mutating func head(_ major: UInt8, _ value: UInt64) {
        switch value {
        case 0..<24: bytes.append(major << 5 | UInt8(value))
        case 24...0xff:
            bytes.append(major << 5 | 24)
            bytes.append(UInt8(value))
        case 0x100...0xffff:
            bytes.append(major << 5 | 25)
            big(UInt16(value))
        case 0x1_0000...0xffff_ffff:
            bytes.append(major << 5 | 26)
            big(UInt32(value))
        default:
            bytes.append(major << 5 | 27)
            big(value)
        }
    }

    private mutating func big(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

/// Why bytes are not what a reader expects.
package struct CBORError: Error, Equatable {
    package var reason: String
    package init(_ reason: String) { self.reason = reason }
}

/// Reads CBOR without trusting any number in it, and only its deterministic form: what is written
/// in another way is an error, so that one content has one form.
package struct CBORReader {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    package var isAtEnd: Bool { position == end }

    package func expectEnd() throws {
        guard isAtEnd else { throw CBORError("bytes follow the end") }
    }

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
        return try take(count)
    }

    package mutating func data(count: Int) throws -> ArraySlice<UInt8> {
        let data = try data()
        guard data.count == count else { throw CBORError("byte string of another length") }
        return data
    }

    package mutating func text() throws -> String {
        let (major, count) = try head()
        guard major == 3 else { throw CBORError("no text") }
        guard let text = String(validating: try take(count), as: UTF8.self) else {
            throw CBORError("text is not UTF-8")
        }
        return text
    }

    /// The number of items of an array, which follow; each has at least a byte.
    package mutating func array() throws -> Int {
        let (major, count) = try head()
        guard major == 4 else { throw CBORError("no array") }
        guard count <= UInt64(end - position) else { throw CBORError("array is too long") }
        return Int(count)
    }

    package mutating func array(count: Int) throws {
        guard try array() == count else { throw CBORError("array of another length") }
    }

    package mutating func bool() throws -> Bool {
        switch try byte() {
        case 0xf4: return false
        case 0xf5: return true
        default: throw CBORError("no truth value")
        }
    }

    /// Consumes a null, if the next item is one.
    package mutating func null() -> Bool {
        guard position < end, bytes[position] == 0xf6 else { return false }
        position += 1
        return true
    }

    /// Consumes a true, if the next item is one.
    package mutating func isTrue() -> Bool {
        guard position < end, bytes[position] == 0xf5 else { return false }
        position += 1
        return true
    }

    package mutating func double() throws -> Double {
        let value: Double
        let width = try byte()
        switch width {
        case 0xf9: value = HalfFloat.value(of: try big(UInt16.self))
        case 0xfa: value = Double(Float(bitPattern: try big(UInt32.self)))
        case 0xfb: value = Double(bitPattern: try big(UInt64.self))
        default: throw CBORError("no floating-point number")
        }
        var again = CBORWriter(capacity: 9)
        again.double(value)
        guard bytes[..<position].suffix(again.bytes.count).elementsEqual(again.bytes),
            again.bytes.first == width
        else { throw CBORError("a number is not in its shortest form") }
        return value
    }

    /// The kind of the next item; nil at the end.
    package var nextMajor: UInt8? { position < end ? bytes[position] >> 5 : nil }

    private mutating func head() throws -> (major: UInt8, value: UInt64) {
        let first = try byte()
        let value: UInt64
        let least: UInt64
        switch first & 31 {
        case let small where small < 24: (value, least) = (UInt64(small), 0)
        case 24: (value, least) = (UInt64(try byte()), 24)
        case 25: (value, least) = (UInt64(try big(UInt16.self)), 0x100)
        case 26: (value, least) = (UInt64(try big(UInt32.self)), 0x1_0000)
        case 27: (value, least) = (try big(UInt64.self), 0x1_0000_0000)
        default: throw CBORError("an item of unknown or indefinite length")
        }
        guard value >= least else { throw CBORError("a number is not in its shortest form") }
        return (first >> 5, value)
    }

    private mutating func byte() throws -> UInt8 {
        guard position < end else { throw CBORError("ends too early") }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func take(_ count: UInt64) throws -> ArraySlice<UInt8> {
        guard count <= UInt64(end - position) else { throw CBORError("ends too early") }
        defer { position += Int(count) }
        return bytes[position..<(position + Int(count))]
    }

    private mutating func big<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
        try take(UInt64(T.bitWidth / 8)).reduce(0) { $0 << 8 | T($1) }
    }
}

/// IEEE 754 numbers of 16 bits; Swift's `Float16` is missing on Intel Macs.
private enum HalfFloat {
    /// Returns the bits of a number that 16 bits hold exactly.
    static func bits(of value: Double) -> UInt16? {
        let sign: UInt16 = value.sign == .minus ? 0x8000 : 0
        if value == 0 { return sign }
        if value.isInfinite { return sign | 0x7c00 }
        let magnitude = value.magnitude
        let exponent = magnitude.exponent
        guard (-24...15).contains(exponent) else { return nil }
        if exponent >= -14 {
            let fraction = (magnitude.significand - 1) * 1024
            guard fraction == fraction.rounded() else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(fraction)
        }
        let fraction = magnitude * 0x1p24
        guard fraction == fraction.rounded() else { return nil }
        return sign | UInt16(fraction)
    }

    static func value(of bits: UInt16) -> Double {
        let sign: Double = bits & 0x8000 == 0 ? 1 : -1
        let exponent = Int(bits >> 10 & 31)
        let fraction = Double(bits & 1023)
        switch exponent {
        case 0: return sign * fraction * 0x1p-24
        case 31: return fraction == 0 ? sign * .infinity : .nan
        default:
            return sign * (1 + fraction / 1024)
                * Double(sign: .plus, exponent: exponent - 15, significand: 1)
        }
    }
}
