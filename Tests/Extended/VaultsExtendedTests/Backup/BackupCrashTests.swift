import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults
@testable import VaultsTests

/// Tests of kills, full disks, and what is on the disk during a backup or a restore.
struct BackupCrashTests {
    @Test func `a kill at any time leaves the old backup or the new one`() async throws {
        let keys = try KeyFolder()
        let vault = try TestVault(rows: 400, keyStore: keys.store())
        let code = RecoveryCode.random()
        let typed = code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        _ = try vault.withQueue {
            try VaultBackup.make(of: $0, at: vault.backup, unlockedBy: [code])
        }
        var moment = SuddenDeath.Moment()
        var (leftovers, ended) = (0, 0)
        for _ in 1...SuddenDeath.count(4) {
            let before = try VaultBackup.metadata(at: vault.backup).claimed.generation
            let delay = moment.next()
            let result = await #expect(processExitsWith: .failure) {
                [
                    database = vault.url as URL, backup = vault.backup as URL,
                    keys = keys.url as URL, typed = typed as String, delay = delay as Int
                ] in
                let store = SecureDatabaseStore(url: database)
                try store.open(with: .raw(FileKeyStore(directory: keys).read("db")))
                let queue = SecureDatabaseQueue(databaseStore: store)
                let code = try RecoveryCode(typed)
                SuddenDeath.after(microseconds: delay)
                try Self.make(of: queue, at: backup, code)
                SuddenDeath.now()
            }
            check(result?.exitStatus, equals: .signal(SIGKILL))
            // Count leftovers before `verify`, which removes them.
            if !(try vault.leftovers().isEmpty) { leftovers += 1 }
            let after = try await VaultBackup.verify(at: vault.backup, unlockedBy: code).generation
            check(after >= before)
            moment.note(wasTooLate: after > before)
            if after > before { ended += 1 }
        }
        SuddenDeath.report("kills of backups: \(ended) too late, \(leftovers) left a draft")
        try check(Marker.places(in: [vault.place.directory.path]), equals: [])
        _ = try vault.withQueue {
            try VaultBackup.make(of: $0, at: vault.backup, unlockedBy: [code], replacing: true)
        }
        try check(vault.leftovers(), equals: [], "leftovers of the killed processes are gone")
    }

    @Test
    func `a kill at any time during a restore leaves the old vault or the new one, with its keys`()
        async throws
    {
        let source = try TestVault(rows: 400)
        let code = RecoveryCode.random()
        let typed = code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        _ = try source.withQueue {
            try VaultBackup.make(
                of: $0, at: source.backup, unlockedBy: [code], dataKeys: [.key(source.data)])
        }
        let keys = try KeyFolder()
        let device = try TestVault(emptyWith: keys.store())
        var moment = SuddenDeath.Moment()
        var (old, new, unfinished) = (0, 0, 0)
        for round in 1...SuddenDeath.count(4) {
            // Alternate between an empty device and one with an existing vault.
            if round % 2 == 1 {
                try SecureDatabaseStore.remove(at: device.url)
                for name in try device.keyStore.names() { try device.keyStore.remove(name) }
            }
            let isThere = SecureDatabaseStore.exists(at: device.url)
            let marker = round
            if isThere {
                try device.withStore {
                    try $0.executeUpdate("INSERT INTO counter VALUES (?, 1)", marker + 1000)
                }
            }
            let delay = moment.next()
            let result = await #expect(processExitsWith: .failure) {
                [
                    database = device.url as URL, backup = source.backup as URL,
                    keys = keys.url as URL, typed = typed as String, delay = delay as Int
                ] in
                let keyStore = try FileKeyStore(directory: keys)
                let code = try RecoveryCode(typed)
                SuddenDeath.after(microseconds: delay)
                try Self.restore(from: backup, to: database, code, keyStore)
                SuddenDeath.now()
            }
            check(result?.exitStatus, equals: .signal(SIGKILL))
            if try VaultBackup.finishInterruptedRestore(
                at: device.url, keyStore: device.keyStore, keyNames: TestVault.names)
            {
                unfinished += 1
            }
            guard SecureDatabaseStore.exists(at: device.url) else {
                check(!isThere)
                try check(device.keyStore.names(), equals: [])
                moment.note(wasTooLate: false)
                old += 1
                // The next round needs an existing vault.
                try device.restore(source.backup, code)
                continue
            }
            try device.checkRestored(rows: 400)
            let isOld =
                try isThere
                && device.withStore {
                    try $0.int(forQuery: "SELECT count(*) FROM counter WHERE id = ?", marker + 1000)
                        == 1
                }
            moment.note(wasTooLate: !isOld)
            if isOld { old += 1 } else { new += 1 }
        }
        SuddenDeath.report("kills of restores: \(old) old, \(new) new, \(unfinished) were finished")
        try device.restore(source.backup, code, replacing: .sameVault)
        try check(device.leftovers(), equals: [])
    }

    // Not `async`: in the `async` closures above, the `async` calls would be preferred.

    private static func make(
        of queue: SecureDatabaseQueue, at url: URL, _ code: RecoveryCode
    ) throws {
        try VaultBackup.make(of: queue, at: url, unlockedBy: [code], replacing: true)
    }

    private static func restore(
        from backup: URL, to url: URL, _ code: RecoveryCode, _ keyStore: FileKeyStore
    ) throws {
        try VaultBackup.restore(
            from: backup, to: url, unlockedBy: code, keyStore: keyStore,
            keyNames: TestVault.names, replacing: .sameVault, preparing: TestVault.keep)
    }

    @Test func `no plaintext is on the disk at any time`() throws {
        let vault = try TestVault(rows: 50)
        let code = RecoveryCode.random()
        let keys = try KeyFolder()
        let other = try TestVault(emptyWith: keys.store())
        let directories = [vault.place.directory.path, other.place.directory.path]
        var looks = 0
        func look(_: FileProgress) throws {
            looks += 1
            try check(Marker.places(in: directories), equals: [])
            // A database begins with its 16-byte salt; a plaintext one begins with this.
            try check(
                Marker.places(in: directories, patterns: [Data("SQLite format 3".utf8)]), equals: []
            )
        }
        _ = try vault.withQueue {
            try VaultBackup.make(
                of: $0, at: vault.backup, unlockedBy: [code], dataKeys: [.key(vault.data)],
                progress: look)
        }
        try other.restore(vault.backup, code, progress: look)
        try other.checkRestored(rows: 50)
        check(looks > 10)
        // Confirm that the search finds plaintext.
        try Data(Marker.text.utf8).write(to: vault.place.directory.appendingPathComponent("plain"))
        try check(Marker.places(in: directories).count, equals: 1)
    }

    #if os(Linux)
        @Test(.enabled(if: SmallDisk.isAvailable))
        func `a full disk leaves the old backup and no temporary file`() async throws {
            let disk = try SmallDisk(kilobytes: 8192)
            await #expect(processExitsWith: .success) { [directory = disk.directory as URL] in
                let vault = try TestVault(rows: 600)
                let code = RecoveryCode.random()
                let backup = directory.appendingPathComponent("vault.backup")
                try vault.withQueue { queue in
                    func make() throws {
                        try VaultBackup.make(
                            of: queue, at: backup, unlockedBy: [code], replacing: true)
                    }
                    try make()
                    let old = try Data(contentsOf: backup)
                    let ballast = Ballast(directory: directory.path)
                    for spare in stride(from: 0, to: old.count * 2, by: old.count / 3) {
                        try ballast.fill(leaving: spare)
                        let error = backupError { try make() }
                        check(
                            error?.kind, equals: "diskFull",
                            "with \(spare) bytes: \(String(describing: error))")
                        try check(Data(contentsOf: backup), equals: old)
                        let names = try FileManager.default.contentsOfDirectory(
                            atPath: directory.path)
                        check(names.sorted(), equals: ["ballast", "vault.backup"])
                        try ballast.remove()
                    }
                    try make()
                }
            }
        }

        @Test(.enabled(if: SmallDisk.isAvailable))
        func `a full disk leaves no partly restored vault and no key`() async throws {
            let disk = try SmallDisk(kilobytes: 8192)
            await #expect(processExitsWith: .success) { [directory = disk.directory as URL] in
                let vault = try TestVault(rows: 600)
                let code = RecoveryCode.random()
                try vault.withQueue { queue in
                    _ = try VaultBackup.make(of: queue, at: vault.backup, unlockedBy: [code])
                }
                let url = directory.appendingPathComponent("new.db")
                let size = try Data(contentsOf: vault.backup).count
                let keyStore = InMemoryKeyStore()
                func restore() throws {
                    try VaultBackup.restore(
                        from: vault.backup, to: url, unlockedBy: code, keyStore: keyStore,
                        keyNames: TestVault.names)
                }
                let ballast = Ballast(directory: directory.path)
                for spare in stride(from: 0, to: size * 19 / 10, by: size / 4) {
                    try ballast.fill(leaving: spare)
                    let error = backupError { try restore() }
                    check(
                        error?.kind, equals: "diskFull",
                        "with \(spare) bytes: \(String(describing: error))")
                    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                    check(names, equals: ["ballast"])
                    try check(keyStore.names(), equals: [])
                    try ballast.remove()
                }
                try restore()
            }
        }
    #endif
}
