import Foundation

/// The data that is written and the keys of the files, identical to those of the C program.
package enum SampleData {
    package static let key = Data((1...32).map { UInt8($0) })
    package static let otherKey = Data((1...32).reversed().map { UInt8($0) })
    package static let passphrase = "correct horse battery staple"
    /// The name of the key-value store.
    package static let storeName = "benchmark"

    /// Texts of 15 to 20 bytes.
    package static let texts = (0..<10_000).map { index in
        let digits = String(index)
        return "customer " + String(repeating: "0", count: 5 - digits.count) + digits
            + String(repeating: "x", count: 1 + index % 6)
    }
    package static let payloads = (0..<256).map { Data(repeating: UInt8($0), count: 100) }

    /// Makes the samples before any timing, like the C program.
    static func prepare() { _ = (texts, payloads) }

    // The queries that the sides run after writing, and before reading.
    package static let checkRows = """
        SELECT sum(id) + sum(length(name)) + sum(length(payload)) + CAST(sum(amount) AS INTEGER)
        FROM sample
        """
    package static let checkNames = "SELECT sum(id * length(name)) FROM sample"
    package static let checkSettings =
        "SELECT sum(length(key) * length(value)) FROM securestorage_kv_1"
    package static let warmRows = "SELECT CAST(sum(amount) AS INTEGER) FROM sample"
    package static let warmSettings = "SELECT sum(kind) FROM securestorage_kv_1"
}

/// A row of the table `sample`.
package struct Sample: Decodable, Sendable {
    package var id: Int64
    package var name: String
    package var amount: Double
    package var payload: Data

    @inlinable package var sum: UInt64 {
        checksum(id, name, amount, payload)
    }
}

/// A value of the key-value store.
package struct Profile: Codable, Sendable {
    package var name: String
    package var visits: Int
    package var rating: Double

    package var sum: UInt64 { checksum(name) &+ UInt64(visits) &+ UInt64(rating) }
}

/// Returns the length of a text plus its last byte.
@inlinable @inline(__always) package func checksum(_ text: String) -> UInt64 {
    var text = text
    return text.withUTF8 { UInt64($0.count) + UInt64($0.last ?? 0) }
}

@inlinable @inline(__always) package func checksum(_ data: Data) -> UInt64 {
    data.withUnsafeBytes { checksum($0) }
}

@inlinable @inline(__always) package func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    UInt64(bytes.count) + UInt64(bytes.last ?? 0)
}

@inlinable @inline(__always) package func checksum(
    _ id: Int64, _ name: String, _ amount: Double, _ payload: [UInt8]
) -> UInt64 {
    UInt64(id) &+ checksum(name) &+ UInt64(amount) &+ payload.withUnsafeBytes { checksum($0) }
}

@inlinable @inline(__always) package func checksum(
    _ id: Int64, _ name: String, _ amount: Double, _ payload: Data
) -> UInt64 {
    UInt64(id) &+ checksum(name) &+ UInt64(amount) &+ checksum(payload)
}
