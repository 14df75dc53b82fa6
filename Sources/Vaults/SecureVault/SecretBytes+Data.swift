internal import Foundation
internal import SecureStorage

// The protocols of a vault speak `Data`, which nobody clears: here it is overwritten after its use.

extension SecretBytes {
    /// A copy that its receiver has to clear.
    var copied: Data { withUnsafeBytes { Data($0) } }

    /// Lends a copy, and overwrites it; who keeps it has a copy of their own.
    func withData<R>(_ body: (Data) throws -> R) rethrows -> R {
        var data = copied
        defer { data.erase() }
        return try body(data)
    }
}

extension Data {
    /// Overwrites the bytes, if nobody shares them.
    mutating func erase() {
        _ = SecretBytes(erasing: &self)
    }
}
