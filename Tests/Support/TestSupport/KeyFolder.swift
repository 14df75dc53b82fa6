package import Foundation
package import SecureKeys
internal import Testing

/// A directory for the files of a key store, deleted with its last reference.
package final class KeyFolder: Sendable {
    package let url: URL

    package var path: String { url.path }

    package init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("KeyFolder-\(UUID().uuidString)", isDirectory: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    package func store() throws -> FileKeyStore { try FileKeyStore(directory: url) }

    /// Returns the names in the directory, including hidden ones.
    package func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// Returns the path of the only file in the directory.
    package func onlyFile() throws -> String {
        let names = try fileNames()
        try require(names.count == 1)
        return "\(path)/\(names[0])"
    }
}

/// Returns the error that `body` throws if it is an error of a key store.
package func keyStoreError(_ body: () throws -> Void) -> KeyStoreError? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeyStoreError
    }
}

extension KeyStoreError {
    /// The error's case without its associated values.
    package enum Kind: String, Codable {
        case notFound, alreadyExists, unavailable, refused, damaged, invalidName
    }

    package var kind: Kind {
        switch self {
        case .notFound: .notFound
        case .alreadyExists: .alreadyExists
        case .unavailable: .unavailable
        case .refused: .refused
        case .damaged: .damaged
        case .invalidName: .invalidName
        }
    }
}

extension KeyStore {
    /// Returns, for each of the five calls with `name`, the kind of error that it throws.
    package func errors(forName name: String) -> [KeyStoreError.Kind?] {
        let secret = SecretBytes(copying: Data([1, 2, 3]))
        return [
            keyStoreError { try store(secret, forName: name) },
            keyStoreError { try insert(secret, forName: name) },
            keyStoreError { _ = try read(name) },
            keyStoreError { try remove(name) },
            keyStoreError { _ = try names() },
        ].map { $0?.kind }
    }
}

extension SecretBytes {
    /// Returns 32 equal bytes, so that a mixture of two secrets is detected.
    package static func uniform(_ byte: UInt8) -> SecretBytes {
        SecretBytes(copying: Data(repeating: byte, count: 32))
    }

    /// The byte of a secret made by ``uniform(_:)``; nil for any other secret.
    package var uniformByte: UInt8? {
        withUnsafeBytes { bytes in
            guard bytes.count == 32, let first = bytes.first else { return nil }
            return bytes.allSatisfy { $0 == first } ? first : nil
        }
    }
}

/// Runs `body` on `count` separate threads, numbered from 0, and waits for them.
///
/// `concurrentPerform` runs only as many at a time as there are cores.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let done = DispatchGroup()
    for number in 0..<count {
        done.enter()
        Thread.detachNewThread {
            body(number)
            done.leave()
        }
    }
    done.wait()
}

/// Collects values from several threads, in any order.
package final class Gathered<Value: Sendable>: @unchecked Sendable {
    // @unchecked: `all` is only touched under `lock`.
    private let lock = NSLock()
    private var all: [Value] = []

    package init() {}

    package var values: [Value] { lock.withLock { all } }

    package func add(_ value: Value) { lock.withLock { all.append(value) } }
}
