internal import Foundation

/// A reader of binary property lists (`bplist00`) that trusts no number in them.
///
/// A list is read once, from its root. The bytes read for all objects never exceed the list's
/// length, and a non-empty container has only one parent (no writer shares containers), so the
/// length bounds both work and memory.
///
/// Apple's
/// [CFBinaryPList.c](https://github.com/apple-oss-distributions/CF/blob/main/CFBinaryPList.c)
/// describes the format.
struct BinaryPropertyList {
    /// The maximum length of a list, in bytes.
    static let maximumLength = 256 << 20
    /// The maximum number of objects: each takes more memory here than in the list.
    static let maximumObjectCount = 4_000_000
    /// The maximum nesting depth of containers.
    static let maximumDepth = 64

    private let bytes: [UInt8]
    private let offsetTable: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private let objectCount: Int
    private let top: Int

    // The values read so far, by object; `nil` for an object whose contents are being read.
    private var values: [Int: PropertyListValue?] = [:]
    private var unread: Int

    /// Returns the root of a list.
    ///
    /// - Parameter data: The whole list.
    /// - Returns: The value.
    /// - Throws: `.typeConversionFailed` for a malformed list, for one that contains itself, and
    ///   for text with a lone surrogate, which a `String` cannot hold.
    static func root(of data: Data) throws -> PropertyListValue {
        var list = try BinaryPropertyList(data)
        return try list.value(list.top, depth: 0)
    }

    private init(_ data: Data) throws {
        let trailerLength = 32
        guard data.count > 8 + trailerLength, data.count <= Self.maximumLength,
            data.starts(with: Array("bplist00".utf8))
        else { throw SecureStorageError.typeConversionFailed }
        bytes = Array(data)
        let trailer = bytes.count - trailerLength
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize),
            let count = Self.number(bytes[trailer + 8..<trailer + 16]),
            let top = Self.number(bytes[trailer + 16..<trailer + 24]),
            let table = Self.number(bytes[trailer + 24..<trailer + 32]),
            (1...Self.maximumObjectCount).contains(count), top < count, table > 8, table < trailer,
            count <= (trailer - table) / offsetSize
        else { throw SecureStorageError.typeConversionFailed }
        objectCount = count
        self.top = top
        offsetTable = table
        unread = table - 8
    }

    /// Returns a big-endian number, or nil if `Int` cannot hold it.
    private static func number(_ bytes: ArraySlice<UInt8>) -> Int? {
        var result: UInt64 = 0
        for byte in bytes {
            guard result >> 56 == 0 else { return nil }
            result = result << 8 | UInt64(byte)
        }
        return Int(exactly: result)
    }

    private mutating func value(_ object: Int, depth: Int) throws -> PropertyListValue {
        if let known = values[object] {
            guard let known, !known.isContainer else {
                throw SecureStorageError.typeConversionFailed
            }
            return known
        }
        guard depth <= Self.maximumDepth, object < objectCount,
            let start = Self.number(bytes[slice(offsetTable + object * offsetSize, offsetSize)]),
            start >= 8, start < offsetTable
        else { throw SecureStorageError.typeConversionFailed }
        values[object] = .some(nil)
        let value = try parse(at: start, depth: depth)
        values[object] = value
        return value
    }

    private func slice(_ start: Int, _ length: Int) -> Range<Int> { start..<start + length }

    /// Returns the `length` bytes at `start` and counts them as read.
    private mutating func take(_ start: Int, _ length: Int) throws -> ArraySlice<UInt8> {
        guard length >= 0, length <= unread, start <= offsetTable - length else {
            throw SecureStorageError.typeConversionFailed
        }
        unread -= length
        return bytes[slice(start, length)]
    }

    private mutating func parse(at start: Int, depth: Int) throws -> PropertyListValue {
        let marker = try take(start, 1)[start]
        let low = Int(marker & 0x0f)
        switch marker >> 4 {
        case 0x0: return try constant(marker)
        case 0x1: return try integer(at: start + 1, power: low)
        case 0x2: return .real(try real(at: start + 1, power: low))
        case 0x3 where low == 3: return .date(try real(at: start + 1, power: low))
        case 0x8:
            guard low < 8, let uid = Self.number(try take(start + 1, low + 1)) else { break }
            return .uid(uid)
        default:
            let (count, first) = try length(low, at: start + 1)
            switch marker >> 4 {
            case 0x4: return .data(Data(try take(first, count)))
            case 0x5: return .string(try ascii(take(first, count)))
            case 0x6:
                let (length, overflow) = count.multipliedReportingOverflow(by: 2)
                guard !overflow else { break }
                return .string(try utf16(take(first, length)))
            case 0xa: return .array(try elements(at: first, count: count, depth: depth))
            case 0xb, 0xc: return .set(try elements(at: first, count: count, depth: depth))
            case 0xd: return try dictionary(at: first, count: count, depth: depth)
            default: break
            }
        }
        throw SecureStorageError.typeConversionFailed
    }

    private func constant(_ marker: UInt8) throws -> PropertyListValue {
        switch marker {
        case 0x00: .null
        case 0x08: .bool(false)
        case 0x09: .bool(true)
        default: throw SecureStorageError.typeConversionFailed
        }
    }

    private mutating func integer(at start: Int, power: Int) throws -> PropertyListValue {
        guard power <= 4 else { throw SecureStorageError.typeConversionFailed }
        var high: UInt64 = 0
        var low: UInt64 = 0
        for byte in try take(start, 1 << power) {
            high = high << 8 | low >> 56
            low = low << 8 | UInt64(byte)
        }
        // Only 16 bytes hold a number above Int64.max; 8 bytes are signed, fewer are unsigned.
        let signed = Int64(bitPattern: low)
        if power < 4 || high == (signed < 0 ? .max : 0) { return .integer(signed) }
        guard high == 0 else { throw SecureStorageError.typeConversionFailed }
        return .unsigned(low)
    }

    private mutating func real(at start: Int, power: Int) throws -> Double {
        var bits: UInt64 = 0
        guard power == 2 || power == 3 else { throw SecureStorageError.typeConversionFailed }
        for byte in try take(start, 1 << power) { bits = bits << 8 | UInt64(byte) }
        return power == 3
            ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
    }

    /// Returns a length, from the marker or the integer after it, and the offset of the content.
    private mutating func length(_ low: Int, at start: Int) throws -> (Int, Int) {
        guard low == 0x0f else { return (low, start) }
        let marker = try take(start, 1)[start]
        let size = 1 << Int(marker & 0x0f)
        guard marker >> 4 == 1, size <= 8, let count = Self.number(try take(start + 1, size)) else {
            throw SecureStorageError.typeConversionFailed
        }
        return (count, start + 1 + size)
    }

    private func ascii(_ bytes: ArraySlice<UInt8>) throws -> String {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { throw SecureStorageError.typeConversionFailed }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func utf16(_ bytes: ArraySlice<UInt8>) throws -> String {
        let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map {
            UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }
        // Decoding replaces a lone surrogate, which changes the text.
        let text = String(decoding: units, as: UTF16.self)
        guard text.utf16.elementsEqual(units) else { throw SecureStorageError.typeConversionFailed }
        return text
    }

    private mutating func references(at start: Int, count: Int) throws -> [Int] {
        let (length, overflow) = count.multipliedReportingOverflow(by: referenceSize)
        guard !overflow else { throw SecureStorageError.typeConversionFailed }
        _ = try take(start, length)
        return try (0..<count).map {
            guard let object = Self.number(bytes[slice(start + $0 * referenceSize, referenceSize)])
            else { throw SecureStorageError.typeConversionFailed }
            return object
        }
    }

    private mutating func elements(
        at start: Int, count: Int, depth: Int
    ) throws -> [PropertyListValue] {
        var result: [PropertyListValue] = []
        for object in try references(at: start, count: count) {
            result.append(try value(object, depth: depth + 1))
        }
        return result
    }

    private mutating func dictionary(
        at start: Int, count: Int, depth: Int
    ) throws -> PropertyListValue {
        let keys = try references(at: start, count: count)
        let objects = try references(at: start + count * referenceSize, count: count)
        var result: [ByteString: PropertyListValue] = [:]
        for (key, object) in zip(keys, objects) {
            guard case .string(let name) = try value(key, depth: depth + 1),
                result.updateValue(try value(object, depth: depth + 1), forKey: ByteString(name))
                    == nil
            else { throw SecureStorageError.typeConversionFailed }
        }
        return .dictionary(result)
    }
}
