/// Builds the bytes of a record, or the data a ciphertext is authenticated with.
///
/// Numbers are big-endian. Every part of variable length is preceded by its length, so no two lists
/// of parts produce the same bytes.
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
