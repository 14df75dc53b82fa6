internal import Crypto
package import Foundation

/// The bytes of records and streams, as tests change and read them.
package enum SealedBytes {
    /// Returns a changed record with the checksum that fits it.
    package static func withChecksum(_ bytes: Data) -> Data {
        let body = bytes.dropLast(8)
        return Data(body) + Data(SHA256.hash(data: body).prefix(8))
    }

    /// Returns a source for a `SealedStreamReader`, of parts that are at most `parts` bytes long.
    package static func source(_ data: Data, parts: Int = .max) -> (Int) -> Data {
        var rest = data[...]
        return { count in
            let part = rest.prefix(min(count, parts))
            rest = rest.dropFirst(part.count)
            return part
        }
    }
}
