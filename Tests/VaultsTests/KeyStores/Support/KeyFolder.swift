import Foundation
import SecureStorage
import Testing
import Vaults

/// A directory for the files of a key store, deleted with its last reference.
final class KeyFolder: Sendable {
    let url: URL

    var path: String { url.path }

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("VaultsTests-\(UUID().uuidString)", isDirectory: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func store() throws -> FileKeyStore { try FileKeyStore(directory: url) }

    /// Returns the names in the directory, including hidden ones.
    func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// Returns the path of the only file in the directory.
    func onlyFile() throws -> String {
        let names = try fileNames()
        try #require(names.count == 1)
        return "\(path)/\(names[0])"
    }
}

/// Returns the error that `body` throws if it is an error of a key store.
func keyStoreError(_ body: () throws -> Void) -> KeyStoreError? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeyStoreError
    }
}

extension KeyStoreError {
    /// The error's case without its associated values.
    enum Kind: String, Codable {
        case notFound, alreadyExists, unavailable, refused, damaged, invalidName
    }

    var kind: Kind {
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
    func errors(forName name: String) -> [KeyStoreError.Kind?] {
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
    static func uniform(_ byte: UInt8) -> SecretBytes {
        SecretBytes(copying: Data(repeating: byte, count: 32))
    }

    /// The byte of a secret made by ``uniform(_:)``; nil for any other secret.
    var uniformByte: UInt8? {
        withUnsafeBytes { bytes in
            guard bytes.count == 32, let first = bytes.first else { return nil }
            return bytes.allSatisfy { $0 == first } ? first : nil
        }
    }
}

/// Runs `body` on separate threads, because `concurrentPerform` runs no more at a time than there
/// are cores.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
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
final class Gathered<Value: Sendable>: @unchecked Sendable {
    // @unchecked: `all` is only touched under `lock`.
    private let lock = NSLock()
    private var all: [Value] = []

    var values: [Value] { lock.withLock { all } }

    func add(_ value: Value) { lock.withLock { all.append(value) } }
}
