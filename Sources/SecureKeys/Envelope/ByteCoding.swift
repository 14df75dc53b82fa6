internal import Foundation

/// Builds the bytes of a record, or the data a ciphertext is authenticated with.
///
/// Every part of variable length is preceded by its length, so no two lists of parts produce the
/// same bytes.
package struct ByteWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 128) { bytes.reserveCapacity(capacity) }

    package mutating func raw(_ part: some Sequence<UInt8>) { bytes.append(contentsOf: part) }

    package mutating func byte(_ value: UInt8) { bytes.append(value) }

    package mutating func integer(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends a part, preceded by its 32-bit length, most significant byte first.
    package mutating func part(_ part: some Collection<UInt8>) {
        integer(UInt32(truncatingIfNeeded: part.count))
        bytes.append(contentsOf: part)
    }

    package mutating func part(_ text: String) {
        var text = text
        text.withUTF8 { part($0) }
    }

    /// Appends a name, preceded by its 8-bit length; names are 1 to 255 bytes long.
    package mutating func name(_ name: String) {
        byte(UInt8(truncatingIfNeeded: name.utf8.count))
        raw(name.utf8)
    }
}

/// Parses the bytes of a record without trusting any number in them.
package struct ByteReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// The bytes read so far.
    package var read: ArraySlice<UInt8> { bytes[..<position] }

    package mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.endIndex - position else {
            throw EnvelopeError.damaged(reason: "it ends too early")
        }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    package mutating func byte() throws -> UInt8 {
        try take(1).reduce(0) { $1 | $0 }
    }

    package mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(
        _ type: Value.Type
    ) throws -> Value {
        try take(Value.bitWidth / 8).reduce(0) { $0 << 8 | Value($1) }
    }

    /// Reads a name as written by `ByteWriter.name`; only UTF-8 is accepted.
    package mutating func name() throws -> String {
        let bytes = try take(Int(byte()))
        let name = String(decoding: bytes, as: UTF8.self)
        guard !bytes.isEmpty, name.utf8.elementsEqual(bytes) else {
            throw EnvelopeError.damaged(reason: "a name is empty or not valid UTF-8")
        }
        return name
    }

    package func expectEnd() throws {
        guard position == bytes.endIndex else {
            throw EnvelopeError.damaged(reason: "bytes follow its end")
        }
    }
}
