import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

/// Tests of making, reading and verifying backups.
struct VaultBackupTests {
    @Test func `a backup of a queue with four active writers is restored on another machine`()
        async throws
    {
        let vault = try TestVault(rows: 300)
        let code = RecoveryCode.random()
        let queue = SecureDatabaseQueue(databaseStore: vault.place.store())
        try await queue.inDatabase { [vault] in try $0.open(with: vault.key()) { _ in nil } }
        let counts = try await withWriters { worker in
            try await queue.inDatabase { try Self.count($0, worker) }
        } during: {
            try await VaultBackup.make(
                of: queue, at: vault.backup, unlockedBy: [code], dataKeys: [.key(vault.data)])
        }
        try await queue.inDatabase { $0.close() }
        try checkOtherMachine(vault, code, counts)
    }

    @Test func `a backup of a pool with four active writers is restored on another machine`()
        async throws
    {
        let vault = try TestVault(rows: 300)
        let code = RecoveryCode.random()
        let pool = SecureDatabasePool(
            url: vault.url, configuration: vault.place.store().configuration)
        try await pool.open(with: vault.key())
        let counts = try await withWriters { worker in
            try await pool.write { try Self.count($0, worker) }
        } during: {
            try await VaultBackup.make(
                of: pool, at: vault.backup, unlockedBy: [code], dataKeys: [.key(vault.data)])
        }
        await pool.close()
        try checkOtherMachine(vault, code, counts)
    }

    @Test func `metadata can be read without a key and is authenticated with one`() throws {
        let vault = try TestVault(rows: 1)
        let code = RecoveryCode.random(name: "paper")
        let password = PasswordKey("hunter2", name: "mine", parameters: try .cheapest)
        let label = VaultBackupLabel(
            deviceName: "Anna's \u{1F4F1}", note: String(repeating: "n", count: 4096))
        let before = Date()
        let made = try vault.withQueue {
            try VaultBackup.make(
                of: $0, at: vault.backup, unlockedBy: [code, password],
                dataKeys: [.key(vault.data)], label: label)
        }
        let read = try VaultBackup.metadata(at: vault.backup)
        check(read.claimed, equals: made)
        check(read.keyRecords.map(\.keyEncryptionKeyName), equals: ["paper", "mine"])
        check(made.label, equals: label)
        check(made.generation, equals: 1)
        check(made.dataKeyNames, equals: ["passwords"])
        check(made.databaseSize % 4096 == 0 && made.databaseSize > 0)
        check(abs(made.createdAt.timeIntervalSince(before)) < 600)
        try check(VaultBackup.verify(at: vault.backup, unlockedBy: code), equals: made)
        try check(VaultBackup.verify(at: vault.backup, unlockedBy: password), equals: made)
        try check(vault.withStore(VaultIdentity.read)?.id, equals: made.vaultID)
        try check(vault.leftovers(), equals: [])
        let mode = try FileManager.default.attributesOfItem(atPath: vault.backup.path)[
            .posixPermissions]
        check(mode as? Int, equals: 0o600)
    }

    @Test func `each backup of a vault has the next generation and the same id`() throws {
        let vault = try TestVault(rows: 1)
        let code = RecoveryCode.random()
        let made = try vault.withQueue { queue in
            try (1...3).map { _ in
                try VaultBackup.make(
                    of: queue, at: vault.backup, unlockedBy: [code], replacing: true)
            }
        }
        check(made.map(\.generation), equals: [1, 2, 3])
        check(Set(made.map(\.vaultID)).count, equals: 1)
    }

    @Test func `a wrong password or code is distinguished from damage`() throws {
        let vault = try TestVault(rows: 1)
        let code = RecoveryCode.random()
        let password = PasswordKey("hunter2", parameters: try .cheapest)
        _ = try vault.withQueue {
            try VaultBackup.make(of: $0, at: vault.backup, unlockedBy: [password, code])
        }
        func error(_ source: any KeyEncryptionKeySource) -> VaultBackupError? {
            backupError { try VaultBackup.verify(at: vault.backup, unlockedBy: source) }
        }
        check(error(PasswordKey("hunter3")), equals: .key(.wrongPassword(name: "password")))
        check(error(RecoveryCode.random()), equals: .key(.wrongRecoveryCode(name: "recovery code")))
        check(error(PasswordKey("hunter2", name: "other")), equals: .key(.noSuchKey(name: "other")))
        check(
            error(try KeyEncryptionKey.random(name: "password")),
            equals: .key(.noSuchKey(name: "password")))
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        check(
            backupError { try other.restore(vault.backup, RecoveryCode.random()) },
            equals: .key(.wrongRecoveryCode(name: "recovery code")))
        try check(other.place.fileNames(), equals: [])
        try check(other.keyStore.names(), equals: [])
        check(!"\(VaultBackupError.key(.wrongPassword(name: "password")))".contains("hunter"))
    }

    @Test func `a code is accepted as people type it`() throws {
        let vault = try TestVault(rows: 1)
        let code = RecoveryCode.random()
        _ = try vault.withQueue {
            try VaultBackup.make(of: $0, at: vault.backup, unlockedBy: [code])
        }
        let text = code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        let typed = text.lowercased().replacing("-", with: " ").replacing("0", with: "o")
            .replacing("1", with: "l")
        try VaultBackup.verify(at: vault.backup, unlockedBy: RecoveryCode("  \(typed)\n"))
    }

    @Test func `a backup can be made with wrapped keys while the key store is locked`()
        throws
    {
        let store = InMemoryKeyStore()
        let vault = try TestVault(rows: 20, keyStore: store)
        let code = RecoveryCode.random()
        var set = try WrappedKeySet(
            wrapping: vault.data, with: KeyEncryptionKey.random(name: "old device"))
        check(
            backupError {
                try vault.withQueue {
                    _ = try VaultBackup.make(
                        of: $0, at: vault.backup, unlockedBy: [code], dataKeys: [.wrapped(set)])
                }
            } != nil, "the code of the backup cannot unwrap the set")
        try set.add(code, for: vault.data)
        vault.data.clear()
        _ = try vault.withQueue { queue in
            store.isLocked = true
            var names: Int?
            try queue.inDatabase { names = try $0.int(forQuery: "SELECT count(name) FROM login") }
            check(names, equals: 20)
            return try VaultBackup.make(
                of: queue, at: vault.backup, unlockedBy: [code], dataKeys: [.wrapped(set)])
        }
        #expect(throws: KeyStoreError.self) { try store.names() }
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        try other.restore(vault.backup, code)
        try other.checkRestored(rows: 20)
    }

    @Test func `a database with a plaintext header is backed up and restored`() throws {
        let vault = try TestVault(emptyWith: InMemoryKeyStore())
        var configuration = vault.place.store().configuration
        configuration.cipher.plaintextHeaderSize = 32
        let store = SecureDatabaseStore(url: vault.url, configuration: configuration)
        try store.open(with: .raw(.random(count: 32))) { _ in nil }
        try TestVault.fill(store, 10, vault.data)
        let code = RecoveryCode.random()
        try VaultBackup.make(
            of: SecureDatabaseQueue(databaseStore: store), at: vault.backup, unlockedBy: [code])
        store.close()
        let other = try TestVault(emptyWith: InMemoryKeyStore())
        try VaultBackup.restore(
            from: vault.backup, to: other.url, unlockedBy: code, keyStore: other.keyStore,
            keyNames: TestVault.names, configuration: configuration)
        let restored = SecureDatabaseStore(url: other.url, configuration: configuration)
        try restored.open(with: other.key()) { _ in nil }
        try check(restored.int(forQuery: "SELECT count(*) FROM login"), equals: 10)
        restored.close()
    }

    @Test func `unacceptable contents are refused before any work`() throws {
        let vault = try TestVault(rows: 1)
        let code = RecoveryCode.random()
        func error(
            _ sources: [any KeyEncryptionKeySource], _ keys: [VaultBackupKey] = [],
            _ label: VaultBackupLabel = .init()
        ) -> VaultBackupError? {
            backupError {
                try vault.withQueue {
                    _ = try VaultBackup.make(
                        of: $0, at: vault.backup, unlockedBy: sources, dataKeys: keys, label: label,
                        progress: { _ in Issue.record("work was done") })
                }
            }
        }
        check(error([]) != nil)
        check(error([code, code]) != nil)
        check(error([code], [.key(vault.data), .key(vault.data)]) != nil)
        check(
            error([code], [], VaultBackupLabel(deviceName: String(repeating: "é", count: 128)))
                != nil)
        check(
            error([code], [], VaultBackupLabel(note: String(repeating: "n", count: 4097))) != nil)
        check(
            error([PasswordKey("", parameters: try .cheapest)]) != nil)
        let many = try (0..<65).map { VaultBackupKey.key(try .random(name: "\($0)")) }
        check(error([code], many) != nil)
        let costly = try ScryptParameters(costExponent: 15, blockSize: 8, parallelism: 16)
        check(
            error([PasswordKey("p", parameters: costly)])?.kind, equals: "unacceptableParameters",
            "a derivation that takes seconds")
        let cleared = try DataEncryptionKey.random(name: "cleared")
        cleared.clear()
        check(error([code], [.key(cleared)]) != nil)
        try check(vault.place.fileNames().contains("vault.backup"), equals: false)
        try check(vault.withStore(VaultIdentity.read) == nil)
    }

    @Test func `an existing file is replaced only on request`() throws {
        let vault = try TestVault(rows: 1)
        let code = RecoveryCode.random()
        try Data("precious".utf8).write(to: vault.backup)
        func make(_ replacing: Bool) throws {
            _ = try vault.withQueue {
                try VaultBackup.make(
                    of: $0, at: vault.backup, unlockedBy: [code], replacing: replacing)
            }
        }
        check(backupError({ try make(false) })?.kind, equals: "taken", "the file was replaced")
        try check(Data(contentsOf: vault.backup), equals: Data("precious".utf8))
        try make(true)
        try VaultBackup.verify(at: vault.backup, unlockedBy: code)
    }

    @Test func `progress covers every step, and an error thrown by it leaves nothing behind`()
        async throws
    {
        struct Enough: Error {}
        let vault = try TestVault(rows: 100)
        let code = RecoveryCode.random()
        var seen: [FileProgress] = []
        _ = try vault.withQueue {
            try VaultBackup.make(
                of: $0, at: vault.backup, unlockedBy: [code], progress: { seen.append($0) })
        }
        check(Set(seen.compactMap(\.step)), equals: Set(FileProgress.Step.allCases))
        check(seen.allSatisfy { (0...1).contains($0.fraction) })
        for step in FileProgress.Step.allCases {
            let url = vault.place.directory.appendingPathComponent("other.backup")
            #expect(throws: Enough.self) {
                try vault.withQueue {
                    _ = try VaultBackup.make(
                        of: $0, at: url, unlockedBy: [code],
                        progress: { if $0.step == step { throw Enough() } })
                }
            }
            try check(vault.leftovers(), equals: [])
            let other = try TestVault(emptyWith: InMemoryKeyStore())
            if step != .sealing {
                #expect(throws: Enough.self) {
                    try other.restore(
                        vault.backup, code, progress: { if $0.step == step { throw Enough() } })
                }
                try check(other.place.fileNames(), equals: [])
                try check(other.keyStore.names(), equals: [])
            }
        }
    }

    @Test func `a cancelled task leaves nothing behind`() async throws {
        let vault = try TestVault(rows: 100)
        let code = RecoveryCode.random()
        let queue = SecureDatabaseQueue(databaseStore: vault.place.store())
        try await queue.inDatabase { [vault] in try $0.open(with: vault.key()) { _ in nil } }
        let (begun, cancelled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let task = Task {
            try await VaultBackup.make(
                of: queue, at: vault.backup, unlockedBy: [code],
                progress: {
                    guard $0.step == .sealing, $0.fraction == 0 else { return }
                    begun.signal()
                    cancelled.wait()
                })
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                begun.wait()
                continuation.resume()
            }
        }
        task.cancel()
        cancelled.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await queue.inDatabase { $0.close() }
        try check(
            vault.place.fileNames().filter { $0.contains("backup") || $0.hasPrefix(".") },
            equals: [])
    }

    @Test func `two calls for one file exclude each other`() throws {
        let vault = try TestVault(rows: 1)
        let code = RecoveryCode.random()
        try vault.withQueue { queue -> Void in
            var inner: VaultBackupError?
            try VaultBackup.make(of: queue, at: vault.backup, unlockedBy: [code]) { progress in
                guard progress.step == .sealing, inner == nil else { return }
                inner = backupError {
                    try VaultBackup.make(of: queue, at: vault.backup, unlockedBy: [code])
                }
            }
            check(inner?.kind, equals: "inUse", "both calls succeeded")
        }
        try VaultBackup.verify(at: vault.backup, unlockedBy: code)
    }

    // MARK: -

    private static func count(_ store: SecureDatabaseStore, _ worker: Int) throws {
        // Two rows in one transaction: a backup contains both or neither.
        try store.executeUpdate(
            """
            INSERT INTO counter VALUES (?, 1), (?, 1)
            ON CONFLICT (id) DO UPDATE SET count = count + 1
            """, worker, worker + 100)
    }

    /// Runs four writing tasks until `body` is done, and returns how often each has written.
    ///
    /// The count is -1 for a task that was cancelled during a write.
    private func withWriters(
        _ write: @escaping @Sendable (Int) async throws -> Void,
        during body: () async throws -> VaultBackupMetadata
    ) async throws -> [Int] {
        let tasks = (0..<4).map { worker in
            Task {
                var count = 0
                while !Task.isCancelled {
                    try await write(worker)
                    count += 1
                }
                return count
            }
        }
        defer { tasks.forEach { $0.cancel() } }
        _ = try await body()
        tasks.forEach { $0.cancel() }
        var counts: [Int] = []
        for task in tasks {
            do { counts.append(try await task.value) } catch is CancellationError {
                counts.append(-1)
            }
        }
        return counts
    }

    private func checkOtherMachine(_ vault: TestVault, _ code: RecoveryCode, _ counts: [Int]) throws
    {
        check(counts.count, equals: 4)
        try check(vault.leftovers(), equals: [])
        let keys = try KeyFolder()
        let other = try TestVault(emptyWith: keys.store())
        let result = try other.restore(vault.backup, code)
        check(result.keySets.map(\.dataKeyName), equals: ["passwords"])
        try other.checkRestored(rows: 300)
        try other.withStore { store in
            let different = try store.int(
                forQuery: """
                    SELECT count(*) FROM counter a JOIN counter b ON b.id = a.id + 100
                    WHERE a.count <> b.count
                    """)
            check(different, equals: 0)
            try check(store.verifyIntegrity().isSound)
        }
        try check(other.leftovers(), equals: [])
        try check(
            other.keyStore.read("db") != vault.keyStore.read("db"),
            "the restored vault has its own key")
    }
}
