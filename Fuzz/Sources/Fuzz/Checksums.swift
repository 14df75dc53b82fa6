import Crypto
import Foundation

/// Corrects the checksums of records, which no mutation would match.
///
/// `Docs/FileFormats.md` says where they are.
enum Checksums {
    static func repaired(_ input: Data) -> Data {
        var record = RecordBytes(input)
        switch String(decoding: input.prefix(4), as: UTF8.self) {
        case "SSWK", "SSVP": record.repair(0..<input.count)
        case "SSWS": record.repairSet(0..<input.count)
        case "SSVB": record.repairHeader()
        case "SSKE": record.repairKeyFile()
        default: break
        }
        return Data(record.bytes)
    }
}

private struct RecordBytes {
    var bytes: [UInt8]

    init(_ input: Data) { bytes = Array(input) }

    /// Returns a number of `count` bytes, or 0 when it is not present.
    private func number(_ position: Int, _ count: Int) -> Int {
        guard position + count <= bytes.count else { return 0 }
        return bytes[position..<position + count].reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func repair(_ range: Range<Int>, length: Int = 8) {
        guard range.upperBound <= bytes.count, range.count > length else { return }
        let start = range.upperBound - length
        let checksum = SHA256.hash(data: bytes[range.lowerBound..<start])
        bytes.replaceSubrange(start..<range.upperBound, with: Array(checksum)[..<length])
    }

    mutating func repairSet(_ range: Range<Int>) {
        let name = range.lowerBound + 5
        let count = name + 1 + number(name, 1) + 16
        var position = count + 1
        for _ in 0..<number(count, 1) where position < range.upperBound {
            let record = position + 2..<position + 2 + number(position, 2)
            repair(record)
            position = record.upperBound
        }
        repair(range)
    }

    /// Repairs the header of a backup: its checksum, and the records in it.
    mutating func repairHeader() {
        var position = 9 + 40
        // Skips two texts.
        for _ in 0..<2 { position += 2 + number(position, 2) }
        let set = position + 2..<position + 2 + number(position, 2)
        repairSet(set)
        position = set.upperBound + 1
        for _ in 0..<number(set.upperBound, 1) where position < bytes.count {
            let record = position + 3..<position + 3 + number(position + 1, 2)
            if number(position, 1) == 0 { repair(record) } else { repairSet(record) }
            position = record.upperBound
        }
        repair(0..<number(5, 4))
    }

    mutating func repairKeyFile() {
        guard 14 + number(8, 2) + number(10, 4) + 32 == bytes.count else { return }
        repair(0..<bytes.count, length: 32)
    }
}
