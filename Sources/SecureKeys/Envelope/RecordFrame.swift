internal import Crypto
package import Foundation
package import SecureStoragePlatform

/// The frame of every record: four letters and a version before it, a checksum after it.
///
/// The checksum is not keyed. It only distinguishes accidental damage from a wrong key: anyone who
/// edits a record can recompute it, and the reader then reports a wrong key.
package enum RecordFrame {
    package static let checksumLength = 8

    /// Begins a record with its first bytes.
    package static func begin(_ magic: StaticString, version: UInt8) -> ByteWriter {
        var writer = ByteWriter(capacity: 256)
        magic.withUTF8Buffer { writer.raw($0) }
        writer.byte(version)
        return writer
    }

    /// Returns the complete record.
    package static func end(_ writer: ByteWriter) -> Data {
        Data(writer.bytes + checksum(writer.bytes[...]))
    }

    /// Returns a reader of the bytes between version and checksum.
    ///
    /// - Throws: `.damaged`, or `.unsupportedVersion` for an intact record of another version.
    package static func open(
        _ record: Data, _ magic: StaticString, version: UInt8, lengths: ClosedRange<Int>
    ) throws -> ByteReader {
        guard lengths.contains(record.count) else {
            throw EnvelopeError.damaged(
                reason: "\(record.count) bytes is not a valid record length")
        }
        let bytes = [UInt8](record)
        let end = bytes.count - checksumLength
        var reader = ByteReader(ofRecord: bytes[..<end])
        let begin = try reader.take(4)
        guard magic.withUTF8Buffer({ begin.elementsEqual($0) }) else {
            throw EnvelopeError.damaged(reason: "it does not start like a record")
        }
        // Check the checksum first: a damaged version byte is damage.
        guard checksum(bytes[..<end]).elementsEqual(bytes[end...]) else {
            throw EnvelopeError.damaged(reason: "its checksum is wrong")
        }
        let found = try reader.byte()
        guard found == version else { throw EnvelopeError.unsupportedVersion(Int(found)) }
        return reader
    }

    private static func checksum(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        Array(SHA256.hash(data: bytes).prefix(checksumLength))
    }
}

extension ByteReader {
    /// Reads the bytes of a record, or of a part of one; throws `EnvelopeError.damaged`.
    package init(ofRecord bytes: ArraySlice<UInt8>) {
        self.init(bytes) { EnvelopeError.damaged(reason: $0) }
    }
}
