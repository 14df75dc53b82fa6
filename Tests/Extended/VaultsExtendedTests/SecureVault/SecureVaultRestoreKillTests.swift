import Foundation
import SecureStorage
import Testing
import TestSupport
import Vaults
@testable import VaultsTests

/// Tests of kills while a vault is restored over another state of itself and first opened.
struct SecureVaultRestoreKillTests {
    let folder: VaultFolder
    private let template: VaultFolder

    init() throws {
        folder = try VaultFolder.make()
        template = VaultFolder(path: folder.path + "/template")
        try template.makeLater()
    }

    static let code = "0123456-789ABCD-EFGHJKH"

    @Test(arguments: [false, true])
    func `a kill at any step leaves the old vault or the restored one`(
        _ isReplacing: Bool
    ) async throws {
        defer { folder.remove() }
        let whole = try place("whole", isReplacing)
        let steps = LockedCount()
        try whole.restoreAndOpen(StepKeyStore(try whole.store()) { steps.value = $0 })
        try check(whole.state(), equals: .restored)
        check(steps.value >= 10)
        for step in 1...steps.value {
            let place = try place("\(step)", isReplacing)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = place.path as String, step = step as Int] in
                let place = VaultFolder(path: path)
                try place.restoreAndOpen(
                    StepKeyStore(try place.store()) { if $0 == step { SuddenDeath.now() } })
            }
            try verify(place, isReplacing, "step \(step)")
        }
    }

    @Test func `a kill at any time leaves the old vault or the restored one`() async throws {
        defer { folder.remove() }
        var moment = SuddenDeath.Moment()
        var counts: [VaultFolder.State: Int] = [:]
        for round in 1...SuddenDeath.count(4) {
            let isReplacing = round % 2 == 0
            let place = try place("\(round)", isReplacing)
            let delay = moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = place.path as String, delay = delay as Int] in
                let place = VaultFolder(path: path)
                let store = try place.store()
                SuddenDeath.after(microseconds: delay)
                try place.restoreAndOpen(store)
                SuddenDeath.now()
            }
            let state = try verify(place, isReplacing, "round \(round)")
            moment.note(wasTooLate: state == .restored)
            counts[state, default: 0] += 1
            place.remove()
        }
        SuddenDeath.report("kills of restored vaults: \(counts)")
    }

    /// Checks that the vault is in one complete state and can be restored again.
    @discardableResult
    private func verify(
        _ place: VaultFolder, _ isReplacing: Bool, _ comment: Comment
    ) throws -> VaultFolder.State {
        let state = try place.state()
        check([.restored, isReplacing ? .old : .none].contains(state), comment)
        if state == .none { place.forgetFirstRun() }
        try place.restoreAndOpen(place.store(), replacing: .sameVault)
        try check(place.state(), equals: .restored, comment)
        try check(place.store().names().count, equals: 4, comment)
        return state
    }

    /// Makes a directory with a backup and, if `isReplacing` is true, with the vault, which has a
    /// later note and another password.
    private func place(_ name: String, _ isReplacing: Bool) throws -> VaultFolder {
        let place = VaultFolder(path: "\(folder.path)/\(name)")
        try FileManager.default.copyItem(at: template.url, to: place.url)
        if !isReplacing { place.forgetFirstRun() }
        return place
    }
}

private final class LockedCount: @unchecked Sendable {
    // @unchecked: used by one thread at a time.
    var value = 0
}

extension VaultFolder {
    enum State { case none, old, restored }

    fileprivate var backup: URL { url.appendingPathComponent("backup") }

    /// Makes a vault with a password, a backup of its first note, and a second note.
    fileprivate func makeLater() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try withVault(store()) { vault throws in
            let old = SecretBytes(utf8: "old")
            try vault.store("a", "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: old)
            try vault.levels.makeBackup(
                at: backup,
                unlockedBy: [RecoveryCode(SecureVaultRestoreKillTests.code)], password: old)
            try vault.levels.authWith(password: old)
            try vault.store("b", "text")
        }
    }

    /// Removes everything but the backup.
    fileprivate func forgetFirstRun() {
        _ = try? SecureDatabaseStore.remove(at: file)
        try? FileManager.default.removeItem(at: keys)
    }

    fileprivate func restoreAndOpen(
        _ keyStore: some KeyStore, replacing: VaultReplacement = .sameVault
    ) throws {
        let factory = factory(keyStore, quick: true)
        try factory.restore(
            from: backup, to: file, unlockedBy: RecoveryCode(SecureVaultRestoreKillTests.code),
            newPassword: SecretBytes(utf8: "new"), replacing: replacing)
        let vault = try factory.makeVault(reporter: nil)
        vault.providers.database.db.close()
    }

    /// Returns the state that the next start finds, checked with the matching password.
    fileprivate func state() throws -> State {
        try withVault(store()) { vault throws in
            let titles = try vault.titles()
            if titles.isEmpty { return .none }
            for (password, expected, state) in [
                ("old", ["a", "b"], State.old), ("new", ["a"], .restored),
            ] where titles == expected {
                try vault.levels.authWith(password: SecretBytes(utf8: password))
                let texts = try titles.indices.map { try vault.text(Int64($0) + 1) }
                if texts.allSatisfy({ $0 == "text" }) { return state }
            }
            throw CocoaError(.fileReadCorruptFile)
        }
    }
}
