import SecureSync
import Testing
import TestSupport

/// The subset of CBOR that objects have.
struct CBORTests {
    private func bytes(_ write: (inout CBORWriter) -> Void) -> [UInt8] {
        var writer = CBORWriter()
        write(&writer)
        return writer.bytes
    }

    private func read<R>(_ bytes: [UInt8], _ read: (inout CBORReader) throws -> R) throws -> R {
        var reader = CBORReader(bytes)
        let value = try read(&reader)
        try reader.expectEnd()
        return value
    }

    private func bytes(hex: String) -> [UInt8] {
        let digits = Array(hex)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0..<($0 + 2)]), radix: 16)
        }
    }

    // RFC 8949, appendix A.
    @Test(arguments: [
        (0, "00"), (1, "01"), (10, "0a"), (23, "17"), (24, "1818"), (25, "1819"), (100, "1864"),
        (1000, "1903e8"), (1_000_000, "1a000f4240"), (1_000_000_000_000, "1b000000e8d4a51000"),
        (-1, "20"), (-10, "29"), (-100, "3863"), (-1000, "3903e7"),
        (Int64.max, "1b7fffffffffffffff"), (Int64.min, "3b7fffffffffffffff"),
    ])
    func `a number has the bytes of the standard`(_ value: Int64, _ hex: String) throws {
        check(bytes { $0.signed(value) }, equals: bytes(hex: hex))
        try check(read(bytes(hex: hex)) { try $0.signed() }, equals: value)
        if value >= 0 {
            try check(read(bytes(hex: hex)) { try $0.unsigned() }, equals: UInt64(value))
        }
    }

    @Test(arguments: [
        (0.0, "f90000"), (-0.0, "f98000"), (1.0, "f93c00"), (1.1, "fb3ff199999999999a"),
        (1.5, "f93e00"), (65504.0, "f97bff"), (100000.0, "fa47c35000"),
        (3.4028234663852886e+38, "fa7f7fffff"), (1.0e+300, "fb7e37e43c8800759c"),
        (5.960464477539063e-8, "f90001"), (0.00006103515625, "f90400"), (-4.0, "f9c400"),
        (-4.1, "fbc010666666666666"), (.infinity, "f97c00"), (-.infinity, "f9fc00"),
    ])
    func `a floating-point number has the bytes of the standard`(_ value: Double, _ hex: String)
        throws
    {
        check(bytes { $0.double(value) }, equals: bytes(hex: hex))
        let again = try read(bytes(hex: hex)) { try $0.double() }
        check(again.bitPattern, equals: value.bitPattern)
    }

    @Test func `all numbers of 16 bits, and those next to them, keep their bits`() throws {
        for bits in UInt16.min ... .max {
            let form = [0xf9, UInt8(bits >> 8), UInt8(bits & 0xff)]
            guard bits & 0x7c00 != 0x7c00 || bits & 0x3ff == 0 || bits == 0x7e00 else {
                // Of NaN there is one form.
                #expect(throws: CBORError.self) { try read(form) { try $0.double() } }
                continue
            }
            let value = try read(form) { try $0.double() }
            check(bytes { $0.double(value) }, equals: form)
            guard value.isFinite else { continue }
            for next in [value.nextUp, value.nextDown, Double(Float(value).nextUp)] {
                let form = bytes { $0.double(next) }
                try check(read(form) { try $0.double() }.bitPattern, equals: next.bitPattern)
            }
        }
    }

    @Test func `any 64 bits keep their value`() throws {
        var generator = SplitMix64(seed: 1)
        for _ in 0..<20_000 {
            let value = Double(bitPattern: generator.next())
            let again = try read(bytes { $0.double(value) }) { try $0.double() }
            check(again.bitPattern == value.bitPattern || value.isNaN && again.isNaN)
        }
    }

    @Test(arguments: ["", "a", "ü", "水", "\u{10151}", "a\0b", "\u{feff}x", "e\u{301}"])
    func `a text keeps its bytes`(_ text: String) throws {
        let form = bytes { $0.text(text) }
        check(form.dropFirst().elementsEqual(text.utf8))
        try check(read(form) { try $0.text() }.utf8.elementsEqual(text.utf8))
    }

    @Test(arguments: ["6180", "62c328", "63eda080", "64f4908080", "61ff", "62c080", "63e28082ff"])
    func `a text that is not UTF-8 is refused`(_ hex: String) {
        #expect(throws: CBORError.self) { try read(bytes(hex: hex)) { try $0.text() } }
    }

    @Test(arguments: [
        "1800", "1817", "1900ff", "1a0000ffff", "1b00000000ffffffff", "3817", "1c", "1f", "ff",
    ])
    func `a number in a longer form than needed is refused`(_ hex: String) {
        #expect(throws: CBORError.self) { try read(bytes(hex: hex)) { try $0.signed() } }
    }

    @Test(arguments: [
        "fa3fc00000", "fb3ff8000000000000", "fb7ff0000000000000", "fb7ff8000000000000",
        "f97e01", "f9fe00", "fa7fc00000", "fb47efffffe0000000", "fb0000000000000000",
    ])
    func `a floating-point number in a longer form than needed is refused`(_ hex: String) {
        #expect(throws: CBORError.self) { try read(bytes(hex: hex)) { try $0.double() } }
    }

    @Test(arguments: [
        "1bffffffffffffffff", "1b8000000000000000", "3bffffffffffffffff", "3b8000000000000000",
        "40", "60", "80", "f6",
    ])
    func `anything but a signed number of 64 bits is refused`(_ hex: String) {
        #expect(throws: CBORError.self) { try read(bytes(hex: hex)) { try $0.signed() } }
    }

    @Test(arguments: ["5f", "5bffffffffffffffff", "5b7fffffffffffffff", "5a7fffffff", "4200"])
    func `a length beyond the end takes no memory`(_ hex: String) {
        #expect(throws: CBORError.self) { try read(bytes(hex: hex)) { try $0.data() } }
        let array = bytes(hex: hex).enumerated().map { $0 == 0 ? $1 + 0x40 : $1 }
        #expect(throws: CBORError.self) { try read(array) { try $0.array() } }
        let text = bytes(hex: hex).enumerated().map { $0 == 0 ? $1 + 0x20 : $1 }
        #expect(throws: CBORError.self) { try read(text) { try $0.text() } }
    }

    @Test func `every cut of an item is an error, and bytes after it too`() throws {
        let items = bytes { writer in
            writer.array(4)
            writer.unsigned(1 << 40)
            writer.text("milk")
            writer.data([1, 2, 3])
            writer.double(0.1)
        }
        func readAll(_ bytes: [UInt8]) throws {
            try read(bytes) {
                try $0.array(count: 4)
                _ = try ($0.unsigned(), $0.text(), $0.data(count: 3), $0.double())
            }
        }
        try readAll(items)
        for count in items.indices {
            #expect(throws: CBORError.self) { try readAll(Array(items[..<count])) }
        }
        #expect(throws: CBORError("bytes follow its end")) { try readAll(items + [0]) }
    }

    @Test func `a null, a true and a false are consumed only if they are next`() throws {
        let form = bytes {
            $0.null()
            $0.bool(true)
            $0.bool(false)
        }
        try read(form) { reader in
            check(!reader.skipTrue() && !reader.skipFalse())
            check(reader.skipNull() && !reader.skipNull())
            check(reader.skipTrue() && reader.skipFalse())
            check(!reader.skipTrue() && !reader.skipFalse() && !reader.skipNull())
        }
    }
}
