import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import Vaults

/// Tests of a vault whose database, or whose machine's clock, was put back.
struct DataVaultRollbackTests {
    private let home: VaultHome
    private let container: DataVaultContainer
    private let vault: DataVault

    private static let password = "P4sSw0rD1"

    init() throws {
        home = try VaultHome()
        container = try home.container()
        vault = try container.create(id: "a", password: Self.password)
        try vault.setString("name", value: "first")
        vault.lock()
    }

    private func refuse() throws {
        var policy = try vault.passwordPolicy
        policy.refusesRollback = true
        try vault.setPasswordPolicy(policy)
    }

    private func copy() throws -> (URL, Data) {
        let database = try require(home.databases().first)
        return (database, try Data(contentsOf: database))
    }

    private func putBack(_ copy: (url: URL, bytes: Data)) throws {
        for suffix in ["-wal", "-shm"] { unlink(copy.url.path + suffix) }
        let file = try FileHandle(forWritingTo: copy.url)
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: copy.bytes)
        try file.close()
    }

    private func unlockAndLock() throws {
        try vault.unlock(password: Self.password)
        check(vault.rollback.isEmpty)
        vault.lock()
    }

    @Test func `nothing is reported of a vault that was not put back`() throws {
        for _ in 0..<3 { try unlockAndLock() }
        let other = try home.container().vault(id: "a")
        try other.unlock(password: Self.password)
        check(other.rollback.isEmpty)
        try check(other.getString("name"), equals: "first")
    }

    @Test func `an older database is reported once, and its values are what there is`() throws {
        try unlockAndLock()
        let old = try copy()
        try vault.unlock(password: Self.password)
        try vault.setString("name", value: "second")
        vault.lock()
        try putBack(old)
        try vault.unlock(password: Self.password)
        check(vault.rollback, equals: .database)
        check(vault.rollback.description, equals: "the vault's database is an older copy")
        try check(vault.getString("name"), equals: "first")
        vault.lock()
        check(vault.rollback.isEmpty)
        try unlockAndLock()
    }

    @Test func `an older database is refused if the policy says so, until it is accepted`()
        async throws
    {
        try refuse()
        try unlockAndLock()
        let old = try copy()
        try unlockAndLock()
        let new = try copy()
        try putBack(old)
        for _ in 0..<2 {
            let error = dataVaultError { try vault.unlock(password: Self.password) }
            check(error?.code, equals: 15)
            check(
                error?.description,
                equals: "the vault's database is an older copy; if that was intended, call "
                    + "acceptRollback(password:)")
            check(vault.isLocked)
        }
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        check(
            vaultCode { try vault.changePassword(Self.password, newPassword: "0ther pass") },
            equals: 15)
        // The newer one is still welcome.
        try putBack(new)
        try unlockAndLock()
        try putBack(old)
        check(vaultCode { try vault.acceptRollback(password: "wrong password") }, equals: 5)
        try await vault.acceptRollback(password: Self.password)
        check(vault.rollback, equals: .database)
        try check(vault.getString("name"), equals: "first")
        vault.lock()
        try unlockAndLock()
        // The one that was put aside is older than the accepted one.
        try putBack(new)
        check(vaultCode { try vault.unlock(password: Self.password) }, equals: 15)
    }

    @Test
    func `a clock that was set back is reported or refused, and one that was adjusted is not`()
        throws
    {
        try unlockAndLock()
        home.date.advance(days: -0.5)
        try unlockAndLock()
        // Not even in steps, each of which is small.
        for _ in 0..<2 {
            home.date.advance(days: -0.8)
            try vault.unlock(password: Self.password)
            check(vault.rollback, equals: .clock)
            vault.lock()
        }
        try refuse()
        check(vaultCode { try vault.unlock(password: Self.password) }, equals: 15)
        home.date.advance(days: 1.5)
        try unlockAndLock()
        home.date.advance(days: -2)
        try vault.acceptRollback(password: Self.password)
        check(vault.rollback, equals: .clock)
        vault.lock()
        try unlockAndLock()
    }

    @Test func `a refused vault with an expired password can be accepted, and then changed`()
        throws
    {
        var policy = DataVaultPasswordPolicy()
        policy.expirationDays = 10
        policy.refusesRollback = true
        try vault.setPasswordPolicy(policy, password: Self.password)
        try unlockAndLock()
        let old = try copy()
        try unlockAndLock()
        try putBack(old)
        home.date.advance(days: 20)
        check(
            vaultCode { try vault.changePassword(Self.password, newPassword: "0ther pass") },
            equals: 15)
        check(vaultCode { try vault.acceptRollback(password: Self.password) }, equals: 57)
        check(vault.isLocked)
        try vault.changePassword(Self.password, newPassword: "0ther pass")
        try check(vault.getString("name"), equals: "first")
        // The try that was counted to find that the passwords differ is forgotten.
        try check(container.records.read(vault.place)?.tries.count, equals: 0)
    }

    @Test func `a restored vault does not take the database of the vault that was backed up`()
        throws
    {
        let code = RecoveryCode.random()
        let backup = home.url.appendingPathComponent("backup")
        try vault.unlock(password: Self.password)
        try vault.makeBackup(at: backup, unlockedBy: [code])
        try vault.setString("name", value: "later")
        vault.lock()
        for _ in 0..<5 { try unlockAndLock() }
        let other = try copy()
        try container.delete(id: "a")
        let restored = try container.restore(
            from: backup, id: "a", unlockedBy: code, password: Self.password)
        check(restored.rollback.isEmpty)
        restored.lock()
        try restored.unlock(password: Self.password)
        check(restored.rollback.isEmpty)
        restored.lock()
        try putBack((try copy().0, other.1))
        // It has another key.
        check(vaultCode { try restored.unlock(password: Self.password) }, equals: 6)
    }

    @Test func `a hostile generation is damage, not a trap`() throws {
        let database = try require(home.databases().first)
        let record = try require(container.records.read(vault.place))
        let key = try require(record.keys).unwrap(
            with: QuickPasswordKey(password: SecretBytes(utf8: Self.password)))
        for number in [Int64.max, -1] {
            do {
                let values = try VaultValues(database.path, key: key)
                try values.queue.inDatabase {
                    try $0.executeUpdate("UPDATE datavault_generation SET generation = ?", number)
                }
                values.close()
            }
            check(vaultCode { try vault.unlock(password: Self.password) }, equals: 6)
        }
        var forged = record
        forged.generation = .max
        try container.records.replace(with: forged, vault.place)
        check(vaultCode { try vault.unlock(password: Self.password) }, equals: 6)
    }

    @Test func `setting the clock back does not make a password younger`() throws {
        var policy = DataVaultPasswordPolicy()
        policy.expirationDays = 10
        try vault.setPasswordPolicy(policy, password: Self.password)
        home.date.advance(days: 9)
        try unlockAndLock()
        home.date.advance(days: 2)
        check(vaultCode { try vault.unlock(password: Self.password) }, equals: 57)
        // Not even to before the last unlock that succeeded.
        for days in [-1.5, -2.5] {
            home.date.advance(days: days)
            check(vaultCode { try vault.unlock(password: Self.password) }, equals: 57)
        }
        try vault.changePassword(Self.password, newPassword: "0ther pass")
        vault.lock()
        try vault.unlock(password: "0ther pass")
        check(vault.rollback.isEmpty)
    }

    @Test func `a session shows the refusal, and can accept`() async throws {
        try refuse()
        try unlockAndLock()
        let old = try copy()
        try unlockAndLock()
        try putBack(old)
        let session = DataVaultSession(id: "a", in: container)
        await #expect(throws: DataVaultError.self) {
            try await session.unlock(password: Self.password)
        }
        guard case .failed(.rolledBack(.database)) = session.state else {
            Issue.record("\(session.state)")
            return
        }
        try await check(session.acceptRollback(password: Self.password), equals: .unlocked)
    }

    @Test func `a kill during an unlock is not taken for an older copy`() async throws {
        try refuse()
        let kills = SuddenDeath.count(2)
        var moment = SuddenDeath.Moment()
        for round in 1...kills {
            let delay = moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = home.path as String, delay = delay as Int] in
                try Self.unlock(path, delay)
            }
            let done = home.url.appendingPathComponent("unlocked")
            moment.note(wasTooLate: FileManager.default.fileExists(atPath: done.path))
            try? FileManager.default.removeItem(at: done)
            try await vault.unlock(password: Self.password)
            check(vault.rollback.isEmpty, "round \(round)")
            try check(vault.getString("name"), equals: "first")
            vault.lock()
        }
        SuddenDeath.report("kills of unlocks: \(kills)")
    }

    private static func unlock(_ path: String, _ delay: Int) throws {
        let vault = try VaultHome(path: path).container().vault(id: "a")
        SuddenDeath.after(microseconds: delay)
        try vault.unlock(password: Self.password)
        close(open(path + "/unlocked", O_WRONLY | O_CREAT, 0o600))
        SuddenDeath.now()
    }
}
