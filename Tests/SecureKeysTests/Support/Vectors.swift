import Foundation
import TestSupport
import Testing

/// The published vectors of `Vectors`; see the README there.
enum Vectors {
    private struct File<Vector: Decodable>: Decodable {
        let tests: [Vector]
    }

    static func load<Vector: Decodable>(_ name: String, as type: Vector.Type) throws -> [Vector] {
        let url = try require(
            Bundle.module.url(forResource: name, withExtension: "json", subdirectory: "Vectors"))
        return try JSONDecoder().decode(File<Vector>.self, from: Data(contentsOf: url)).tests
    }
}

/// Bytes that a vector spells in hexadecimal.
struct HexBytes: Decodable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        let digits = Array(try decoder.singleValueContainer().decode(String.self).utf8)
        bytes = try stride(from: 0, to: digits.count, by: 2).map { index in
            let pair = String(decoding: digits[index..<min(index + 2, digits.count)], as: UTF8.self)
            guard pair.utf8.count == 2, let byte = UInt8(pair, radix: 16) else {
                throw CocoaError(.coderInvalidValue)
            }
            return byte
        }
    }
}
