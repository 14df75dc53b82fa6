import Crypto
import Foundation
import SecureStorage
import SecureStoragePlatform
import TestSupport
import VaultsTestKit

@testable import SecureKeys
@testable import Vaults

/// A directory for the vaults of one test, removed with its last reference.
///
/// Other processes can open its parts by path.
final class VaultHome: Sendable {
    let url: URL
    let clock = ManualClock()
    let date = ManualDate()
    private let isOwner: Bool

    var path: String { url.path }

    init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("VaultsTests-\(UUID().uuidString)")
        isOwner = true
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// Opens the directory that another process owns.
    init(path: String) {
        url = URL(fileURLWithPath: path)
        isOwner = false
    }

    deinit { if isOwner { try? FileManager.default.removeItem(at: url) } }

    var directory: URL { url.appendingPathComponent("vaults") }

    func keyStore() throws -> FileKeyStore {
        try FileKeyStore(directory: url.appendingPathComponent("keys"))
    }

    /// Returns the real container, except that deriving a password's key costs nothing.
    func container(
        _ keyStore: (any KeyStore)? = nil, startedAs start: UInt8 = 0, clock: ManualClock? = nil
    ) throws -> DataVaultContainer {
        let clock = clock ?? self.clock
        return
            try DataVaultContainer(
                directory: directory, keyStore: keyStore ?? self.keyStore(), clock: clock,
                date: { [date] in date.now },
                moment: {
                    MachineMoment(
                        uptime: Int64(clock.now / .milliseconds(1)),
                        start: Data(repeating: 0xa0 + start, count: 16))
                },
                makePasswordKey: { QuickPasswordKey(password: $0) })
    }

    /// Like `container()`, but each derivation passes a gate first.
    func container(passing gate: Gate) throws -> DataVaultContainer {
        try DataVaultContainer(directory: directory, keyStore: keyStore(), clock: clock) {
            gate.pass()
            return QuickPasswordKey(password: $0)
        }
    }

    /// Creates the locked vault "a" with one value, three tries and the password "P4sSw0rD1".
    func lockedVault(in container: DataVaultContainer) throws -> DataVault {
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = 3
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        try vault.setString("name", value: "value")
        vault.lock()
        return vault
    }

    /// Returns the real container with the cheapest allowed derivation.
    func realContainer() throws -> DataVaultContainer {
        try DataVaultContainer(
            directory: directory, keyStore: keyStore(), parameters: .cheapest, clock: clock)
    }

    func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    func databases() throws -> [URL] {
        try fileNames().filter { $0.hasSuffix(".vault") }
            .map { directory.appendingPathComponent($0) }
    }
}

/// A date that a test sets.
final class ManualDate: @unchecked Sendable {
    // @unchecked: `time` is only touched under `lock`.
    private let lock = NSLock()
    private var time = Date(timeIntervalSince1970: 1_800_000_000)

    var now: Date { lock.withLock { time } }

    func advance(days: Double) { lock.withLock { time += days * 86_400 } }
}

/// A password's key without the costly derivation, for tests of everything but guessing.
struct QuickPasswordKey: KeyEncryptionKeySource {
    let password: SecretBytes
    var name: String { "password" }

    func makeKey() throws -> KeyEncryptionKey { try key(salt: Data(RandomBytes.make(16))) }

    func key(for record: WrappedKey) throws -> KeyEncryptionKey {
        guard case .password(_, let salt) = record.origin else {
            throw EnvelopeError.noSuchKey(name: name)
        }
        return try key(salt: salt)
    }

    private func key(salt: Data) throws -> KeyEncryptionKey {
        var hash = SHA256()
        hash.update(data: salt)
        password.withUnsafeBytes { hash.update(bufferPointer: $0) }
        return try KeyEncryptionKey(
            name: name, bytes: SecretBytes(copying: hash.finalize()),
            origin: .password(.cheapest, salt: salt))
    }
}

/// Returns the code of the error that `body` throws: nil for none, -1 for another type.
func vaultCode(_ body: () throws -> Void) -> Int? {
    do {
        try body()
        return nil
    } catch {
        return (error as? DataVaultError)?.code ?? -1
    }
}

/// Returns the error that `body` throws, if it is a `DataVaultError`.
func dataVaultError(_ body: () throws -> Void) -> DataVaultError? {
    do {
        try body()
        return nil
    } catch {
        return error as? DataVaultError
    }
}
