internal import Foundation

/// Writes binary property lists that contain an archive's references, which Foundation cannot
/// write.
struct BinaryPropertyListWriter {
    private struct Object {
        var bytes: [UInt8]
        var references: [Int] = []
    }

    private var objects: [Object] = []
    // A string is written once, since the keys of an archive's objects repeat.
    private var texts: [ByteString: Int] = [:]

    /// Returns the list of a value.
    static func data(of root: PropertyListValue) -> Data {
        var writer = BinaryPropertyListWriter()
        _ = writer.add(root)
        return writer.data()
    }

    private mutating func add(_ value: PropertyListValue) -> Int {
        if case .string(let text) = value, let known = texts[ByteString(text)] { return known }
        let index = objects.count
        objects.append(Object(bytes: []))
        switch value {
        case .null: objects[index].bytes = [0x00]
        case .bool(let flag): objects[index].bytes = [flag ? 0x09 : 0x08]
        case .integer(let number): objects[index].bytes = Self.integer(number)
        case .unsigned(let number):
            objects[index].bytes = [0x14] + Array(repeating: 0, count: 8) + Self.big(number)
        case .real(let number): objects[index].bytes = [0x23] + Self.big(number.bitPattern)
        case .date(let time): objects[index].bytes = [0x33] + Self.big(time.bitPattern)
        case .data(let data): objects[index].bytes = Self.marker(0x40, data.count) + data
        case .string(let text):
            texts[ByteString(text)] = index
            objects[index].bytes = Self.text(text)
        case .uid(let uid): objects[index].bytes = [0x83] + Self.big(UInt32(uid))
        case .array(let values):
            objects[index].bytes = Self.marker(0xa0, values.count)
            objects[index].references = values.map { add($0) }
        case .set(let values):
            objects[index].bytes = Self.marker(0xc0, values.count)
            objects[index].references = values.map { add($0) }
        case .dictionary(let fields):
            let pairs = fields.sorted {
                $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8)
            }
            objects[index].bytes = Self.marker(0xd0, pairs.count)
            let keys = pairs.map { add(.string($0.key.text)) }
            objects[index].references = keys + pairs.map { add($0.value) }
        }
        return index
    }

    private func data() -> Data {
        var result = Array("bplist00".utf8)
        var offsets: [Int] = []
        let referenceSize = Self.size(objects.count)
        for object in objects {
            offsets.append(result.count)
            result += object.bytes
            for reference in object.references {
                result += Self.big(UInt64(reference)).suffix(referenceSize)
            }
        }
        let table = result.count
        let offsetSize = Self.size(table)
        for offset in offsets { result += Self.big(UInt64(offset)).suffix(offsetSize) }
        result += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        result +=
            Self.big(UInt64(objects.count)) + Self.big(UInt64(0)) + Self.big(UInt64(table))
        return Data(result)
    }

    private static func size(_ largest: Int) -> Int {
        largest < 1 << 8 ? 1 : largest < 1 << 16 ? 2 : largest < 1 << 32 ? 4 : 8
    }

    private static func big(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func integer(_ number: Int64) -> [UInt8] {
        if let small = UInt8(exactly: number) { return [0x10, small] }
        if let short = UInt32(exactly: number) { return [0x12] + big(short) }
        return [0x13] + big(number)
    }

    private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
        count < 15 ? [kind | UInt8(count)] : [kind | 0x0f] + integer(Int64(count))
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ $0 < 0x80 }) { return marker(0x50, bytes.count) + bytes }
        let units = Array(text.utf16)
        return marker(0x60, units.count)
            + units.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }
}
