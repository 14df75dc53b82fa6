import Foundation

@testable import SecureSync

/// Reads the items of an input one after the other, and writes each again.
struct CBORTarget: FuzzTarget {
    func run(_ input: Data) throws {
        var reader = CBORReader([UInt8](input))
        var writer = CBORWriter()
        _ = try allowing(CBORError.self) {
            while !reader.isAtEnd {
                try copyItem(from: &reader, to: &writer)
                precondition(
                    input.starts(with: writer.bytes), "an item has two forms, or is read otherwise")
            }
            precondition(writer.bytes.elementsEqual(input), "not all was read")
        }
    }

    /// Copies an item, but of an array its beginning only.
    private func copyItem(from reader: inout CBORReader, to writer: inout CBORWriter) throws {
        switch reader.nextMajor {
        case 0: writer.unsigned(try reader.unsigned())
        case 1: writer.signed(try reader.signed())
        case 2: writer.data(try reader.data())
        case 3: writer.text(try reader.text())
        case 4: writer.array(try reader.array())
        default:
            if reader.skipNull() {
                writer.null()
            } else if reader.skipTrue() {
                writer.bool(true)
            } else if reader.skipFalse() {
                writer.bool(false)
            } else {
                writer.double(try reader.double())
            }
        }
    }
}
