import Foundation
import SecureStorage
import Vaults

/// A key store that calls back before and after each change, with the number of the step.
///
/// Tests use it for kills and failures at each step.
final class StepKeyStore: KeyStore, @unchecked Sendable {
    // @unchecked: `steps` is only touched under `lock`.
    private let base: any KeyStore
    private let atStep: @Sendable (Int) throws -> Void
    private let lock = NSLock()
    private var steps = 0

    init(_ base: some KeyStore, atStep: @escaping @Sendable (Int) throws -> Void) {
        self.base = base
        self.atStep = atStep
    }

    private func step<T>(_ body: () throws -> T) throws -> T {
        func next() throws {
            try atStep(
                lock.withLock {
                    steps += 1
                    return steps
                })
        }
        try next()
        let result = try body()
        try next()
        return result
    }

    func store(_ secret: SecretBytes, forName name: String) throws {
        try step { try base.store(secret, forName: name) }
    }

    func insert(_ secret: SecretBytes, forName name: String) throws {
        try step { try base.insert(secret, forName: name) }
    }

    func read(_ name: String) throws -> SecretBytes { try base.read(name) }

    func remove(_ name: String) throws -> Bool { try step { try base.remove(name) } }

    func names() throws -> [String] { try base.names() }
}
