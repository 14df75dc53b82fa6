import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct BinaryPropertyListTests {
    @Test(arguments: [(100, 1), (1000, 2), (100_000, 4)])
    func `offsets are as wide as the last of them needs`(_ count: Int, _ width: UInt8) throws {
        let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let list = BinaryPropertyListWriter.data(of: .array([.data(bytes), .string("end")]))
        // The trailer has 32 bytes; the seventh is the width of an offset.
        check(list.suffix(32).dropFirst(6).first, equals: width)
        let foundations = try PropertyListSerialization.propertyList(from: list, format: nil)
        check((foundations as? [Any])?.first as? Data, equals: bytes)
        check((foundations as? [Any])?.last as? String, equals: "end")
    }

    @Test(arguments: [14, 15, 255, 256])
    func `references are as wide as the number of objects needs`(_ count: Int) throws {
        let texts = (0..<count).map { "\($0)" }
        let list = BinaryPropertyListWriter.data(of: .array(texts.map { .string($0) }))
        // The array itself is an object, too.
        check(list.suffix(32).dropFirst(7).first, equals: count + 1 < 256 ? 1 : 2)
        let foundations = try PropertyListSerialization.propertyList(from: list, format: nil)
        check(foundations as? [String], equals: texts)
    }

    @Test(arguments: [
        0, 1, 255, 256, 65535, 65536, Int64(UInt32.max), Int64(UInt32.max) + 1, .max, -1, .min,
    ])
    func `integers are read back as they were`(_ number: Int64) throws {
        let list = BinaryPropertyListWriter.data(of: .array([.integer(number)]))
        let foundations = try PropertyListSerialization.propertyList(from: list, format: nil)
        check(foundations as? [Int64], equals: [number])
    }
}
