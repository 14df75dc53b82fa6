/// A place in a write-ahead log: the end of a commit.
///
/// The log of another file, or of another state of the same one, has no such place: the checksum
/// covers everything from the log's beginning.
package struct LogPosition: Equatable, Sendable {
    /// The salts of the log's header.
    package var salts: [UInt8]
    /// Counts the uses of the log.
    package var sequence: UInt32
    /// The number of frames before the place.
    package var frame: UInt32
    /// The checksum of the last frame, or of the header.
    package var checksum: [UInt8]

    /// Bytes of the stored form.
    package static let byteCount = 24

    /// The stored form: salts, sequence, frame and checksum, with numbers in big-endian order.
    package var bytes: [UInt8] {
        salts + Self.bytes(sequence) + Self.bytes(frame) + checksum
    }

    /// Creates a position from the stored form; nil for another number of bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        salts = Array(bytes[..<8])
        sequence = WriteAheadLog.number(bytes, at: 8)
        frame = WriteAheadLog.number(bytes, at: 12)
        checksum = Array(bytes[16...])
    }

    init(salts: [UInt8], sequence: UInt32, frame: UInt32, checksum: [UInt8]) {
        self.salts = salts
        self.sequence = sequence
        self.frame = frame
        self.checksum = checksum
    }

    /// The beginning of a log; nil if its header is not whole.
    init?(atStartOf header: [UInt8]) {
        guard WriteAheadLog.pageSize(ofHeader: header) != nil else { return nil }
        self.init(
            salts: Array(header[16..<24]), sequence: WriteAheadLog.number(header, at: 12), frame: 0,
            checksum: Array(header[24..<32]))
    }

    /// The place where no log is yet.
    static let none = LogPosition(
        salts: [UInt8](repeating: 0, count: 8), sequence: 0, frame: 0,
        checksum: [UInt8](repeating: 0, count: 8))

    private static func bytes(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
