internal import Foundation
internal import SecureStorage

// The protocols of a vault use `Data`, which is never cleared: these helpers overwrite it after
// use.

extension SecretBytes {
    /// A copy that the receiver must clear.
    var copied: Data { withUnsafeBytes { Data($0) } }

    /// Passes a copy, then overwrites it; code that keeps the data must copy it.
    func withData<R>(_ body: (Data) throws -> R) rethrows -> R {
        var data = copied
        defer { data.erase() }
        return try body(data)
    }
}

extension Data {
    /// Overwrites the bytes unless they are shared.
    mutating func erase() {
        _ = SecretBytes(erasing: &self)
    }
}
