internal import Foundation

/// Decodes the values of a row or an index entry, stored in [SQLite's record
/// format](https://sqlite.org/fileformat2.html#record_format).
enum RecordReader {
    /// Returns the values of a record; nil when the bytes are not exactly one record.
    static func values(_ record: [UInt8]) -> [StoredValue]? {
        var position = 0
        guard let headerSize = varint(record, &position, end: record.count),
            (1...Int64(record.count)).contains(headerSize)
        else { return nil }
        var body = Int(headerSize)
        var values: [StoredValue] = []
        while position < Int(headerSize) {
            // SQLite's own limit on columns.
            guard values.count < 32_767 else { return nil }
            guard let type = varint(record, &position, end: Int(headerSize)), type >= 0,
                let value = value(record, type, &body)
            else { return nil }
            values.append(value)
        }
        return body == record.count ? values : nil
    }

    private static func value(
        _ record: [UInt8], _ type: Int64, _ position: inout Int
    ) -> StoredValue? {
        let sizes = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0]
        let size = type < 10 ? sizes[Int(type)] : Int(clamping: (type - 12) / 2)
        guard type < 10 || type >= 12, size <= record.count - position else { return nil }
        let bytes = record[position..<(position + size)]
        position += size
        switch type {
        case 0: return .null
        case 8: return .integer(0)
        case 9: return .integer(1)
        case 1...6:
            // Big-endian; the first bit is the sign.
            let start: Int64 = bytes.first.map { $0 >= 0x80 ? -1 : 0 } ?? 0
            return .integer(bytes.reduce(start) { $0 << 8 | Int64($1) })
        case 7:
            return .real(Double(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }))
        default:
            return type % 2 == 0 ? .blob(bytes) : .text(bytes)
        }
    }

    /// Reads a number of 1 to 9 bytes; nil when it continues after `end`.
    static func varint(_ bytes: [UInt8], _ position: inout Int, end: Int) -> Int64? {
        var number: UInt64 = 0
        for index in 0..<9 {
            guard position < min(end, bytes.count) else { return nil }
            let byte = bytes[position]
            position += 1
            if index == 8 { return Int64(bitPattern: number << 8 | UInt64(byte)) }
            number = number << 7 | UInt64(byte & 0x7f)
            if byte < 0x80 { return Int64(bitPattern: number) }
        }
        return nil
    }
}
