/// Reads bytes one after the other, without trusting any number in them.
///
/// Numbers are big-endian. What it throws is the caller's error: a record, an object of a mirror
/// and an item of CBOR each have their own.
@usableFromInline
package struct ByteReader {
    @usableFromInline let bytes: ArraySlice<UInt8>
    @usableFromInline var position: Int
    @usableFromInline let failure: @Sendable (String) -> any Error

    /// - Parameters:
    ///   - bytes: What it reads.
    ///   - failure: Returns the error for a reason.
    @inlinable
    package init(_ bytes: ArraySlice<UInt8>, failure: @escaping @Sendable (String) -> any Error) {
        self.bytes = bytes
        self.failure = failure
        position = bytes.startIndex
    }

    /// The bytes read so far.
    package var read: ArraySlice<UInt8> { bytes[..<position] }

    /// How many bytes are left.
    @inlinable
    package var count: Int { bytes.endIndex - position }

    /// The next byte, which stays the next one; nil at the end.
    @inlinable
    package var next: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

    /// Reads a byte.
    @inlinable
    package mutating func byte() throws -> UInt8 {
        guard position < bytes.endIndex else { throw endsTooEarly }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads a number of bytes.
    @inlinable
    package mutating func take(_ count: some BinaryInteger) throws -> ArraySlice<UInt8> {
        guard let count = Int(exactly: count), 0...self.count ~= count else { throw endsTooEarly }
        defer { position += count }
        return bytes[position..<(position + count)]
    }

    /// Reads a number of all its bytes.
    @inlinable
    package mutating func integer<Value: FixedWidthInteger & UnsignedInteger>(
        _ type: Value.Type
    ) throws -> Value {
        guard Value.bitWidth / 8 <= count else { throw endsTooEarly }
        var value: Value = 0
        for index in position..<(position + Value.bitWidth / 8) {
            value = value << 8 | Value(truncatingIfNeeded: bytes[index])
        }
        position += Value.bitWidth / 8
        return value
    }

    /// Reads a part as written by `ByteWriter.part`.
    package mutating func part() throws -> ArraySlice<UInt8> { try take(integer(UInt32.self)) }

    /// Reads a name as written by `ByteWriter.name`; only UTF-8 is accepted.
    package mutating func name() throws -> String {
        let bytes = try take(byte())
        let name = String(decoding: bytes, as: UTF8.self)
        guard !bytes.isEmpty, name.utf8.elementsEqual(bytes) else {
            throw failure("a name is empty or not valid UTF-8")
        }
        return name
    }

    /// Throws if bytes are left.
    package func expectEnd() throws {
        guard count == 0 else { throw failure("bytes follow its end") }
    }

    @usableFromInline var endsTooEarly: any Error { failure("it ends too early") }
}
