internal import Crypto
internal import Foundation

/// What every record begins and ends with: four letters and a version, and a checksum.
///
/// The checksum has no key. It tells an accident from a wrong key, nothing else: who edits a record
/// can make it fit, and then gets the answer of a wrong key.
enum RecordFrame {
    static let checksumLength = 8

    /// The first bytes of a record.
    static func begin(_ magic: StaticString, version: UInt8) -> ByteWriter {
        var writer = ByteWriter(capacity: 256)
        magic.withUTF8Buffer { writer.raw($0) }
        writer.byte(version)
        return writer
    }

    /// The whole record.
    static func end(_ writer: ByteWriter) -> Data {
        Data(writer.bytes + checksum(writer.bytes[...]))
    }

    /// A reader of what lies between version and checksum.
    ///
    /// - Throws: `.damaged`, or `.unsupportedVersion` for an intact record of another version.
    static func open(
        _ record: Data, _ magic: StaticString, version: UInt8, lengths: ClosedRange<Int>
    ) throws -> ByteReader {
        guard lengths.contains(record.count) else {
            throw EnvelopeError.damaged(reason: "no record is \(record.count) bytes long")
        }
        let bytes = [UInt8](record)
        let end = bytes.count - checksumLength
        var reader = ByteReader(bytes[..<end])
        let begin = try reader.take(4)
        guard magic.withUTF8Buffer({ begin.elementsEqual($0) }) else {
            throw EnvelopeError.damaged(reason: "it does not begin like a record")
        }
        // The checksum goes first: a version that was damaged is damage.
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
