import Foundation
import SecureStorage
import Testing
import Vaults

/// A directory for the files of a key store, which goes with its last reference.
final class KeyFolder: Sendable {
    let url: URL

    var path: String { url.path }

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("VaultsTests-\(UUID().uuidString)", isDirectory: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func store() throws -> FileKeyStore { try FileKeyStore(directory: url) }

    /// The names in the directory, hidden ones too.
    func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    /// The only file that there is.
    func onlyFile() throws -> String {
        let names = try fileNames()
        try #require(names.count == 1)
        return "\(path)/\(names[0])"
    }
}

/// What `body` throws, as the error of a key store.
func keyStoreError(_ body: () throws -> Void) -> KeyStoreError? {
    do {
        try body()
        return nil
    } catch {
        return error as? KeyStoreError
    }
}

extension KeyStoreError {
    /// The case without what it holds.
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
    /// What each of the five calls throws for `name`.
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
    /// 32 equal bytes, so that a mixture of two secrets shows.
    static func uniform(_ byte: UInt8) -> SecretBytes {
        SecretBytes(copying: Data(repeating: byte, count: 32))
    }

    /// The byte of ``uniform(_:)``; nil for anything else.
    var uniformByte: UInt8? {
        withUnsafeBytes { bytes in
            guard bytes.count == 32, let first = bytes.first else { return nil }
            return bytes.allSatisfy { $0 == first } ? first : nil
        }
    }
}

/// Threads of their own: `concurrentPerform` runs no more at a time than there are cores.
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

/// What threads put in, in any order.
final class Gathered<Value: Sendable>: @unchecked Sendable {
    // @unchecked: `all` is only touched under `lock`.
    private let lock = NSLock()
    private var all: [Value] = []

    var values: [Value] { lock.withLock { all } }

    func add(_ value: Value) { lock.withLock { all.append(value) } }
}
