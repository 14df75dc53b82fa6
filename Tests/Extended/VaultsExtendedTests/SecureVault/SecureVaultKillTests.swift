import Foundation
import SecureStorage
import TestSupport
import Testing
import Vaults
@testable import VaultsTests

/// Tests of kills during the first run and during a password change.
struct SecureVaultKillTests {
    let folder: VaultFolder

    init() throws { folder = try VaultFolder.make() }

    /// How often `make campaign NAME=crash` kills a process at a random moment; nil means a few
    /// times.
    static let kills = ProcessInfo.processInfo.environment["SECURESTORAGE_KILLS"]
        .flatMap { Int($0) }

    @Test func `a first run killed at any step is completed by the next start`() async throws {
        defer { folder.remove() }
        let steps = StepCounter()
        let whole = try subfolder("whole")
        try whole.withVault(StepKeyStore(try whole.store()) { steps.count = $0 }) { _ in }
        check(steps.count >= 10)
        for step in 1...steps.count {
            let folder = try subfolder("\(step)")
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = folder.path as String, step = step as Int] in
                let folder = VaultFolder(path: path)
                let store = StepKeyStore(try folder.store()) {
                    if $0 == step { kill(getpid(), SIGKILL) }
                }
                try folder.withVault(store) { _ in }
            }
            let store = try folder.store()
            let before = try store.names()
            let kept = try before.map { try store.read($0) }
            try folder.withVault(store) { try $0.store("a", "text") }
            try folder.withVault(store) { (vault: NoteVault) throws in
                try check(vault.text(1), equals: "text")
            }
            try check(store.names().count, equals: 5, "step \(step)")
            for (name, secret) in zip(before, kept) where !name.hasSuffix(".candidate") {
                try check(store.read(name), equals: secret, "\(name) was replaced, step \(step)")
            }
        }
    }

    @Test(arguments: [nil, "old"])
    func `a killed password change leaves the old password or the new one`(
        _ old: String?
    ) async throws {
        defer { folder.remove() }
        let steps = StepCounter()
        func prepared(_ name: String) throws -> VaultFolder {
            let folder = try subfolder(name)
            try folder.withVault(try folder.store()) { (vault: NoteVault) throws in
                try vault.store("a", "text")
                guard let old else { return }
                try vault.levels.resetL2Password(
                    oldPassword: nil, newPassword: Data(old.utf8))
            }
            return folder
        }
        let whole = try prepared("whole")
        try whole.withVault(StepKeyStore(try whole.store()) { steps.count = $0 }) { vault in
            steps.count = 0
            try vault.levels.resetL2Password(
                oldPassword: old.map { Data($0.utf8) }, newPassword: Data("new".utf8))
        }
        check(steps.count, equals: 4)
        for step in 1...steps.count {
            let folder = try prepared("\(step)")
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = folder.path as String, step = step as Int, old = old as String?] in
                let folder = VaultFolder(path: path)
                let store = StepKeyStore(try folder.store()) {
                    if $0 == step { kill(getpid(), SIGKILL) }
                }
                try folder.withVault(store) { (vault: NoteVault) throws in
                    try vault.levels.resetL2Password(
                        oldPassword: old.map { Data($0.utf8) }, newPassword: Data("new".utf8))
                }
            }
            try folder.withVault(try folder.store()) { (vault: NoteVault) throws in
                let isNew = step > 1
                try check(vault.opens(with: "new"), equals: isNew, "step \(step)")
                if let old { try check(vault.opens(with: old), equals: !isNew, "step \(step)") }
                vault.levels.lock()
                if isNew { try vault.levels.authWith(password: Data("new".utf8)) }
                if !isNew, let old { try vault.levels.authWith(password: Data(old.utf8)) }
                try check(vault.text(1), equals: "text", "step \(step)")
            }
        }
    }

    @Test func `kills at random moments lose nothing, and one of the two passwords opens`()
        async throws
    {
        defer { folder.remove() }
        var entries: [Int: Int] = [:]
        var changed = 0
        for round in 1...(Self.kills ?? 10) {
            // Round 1 and even rounds make a first run; the others continue from the last one.
            let folder = try subfolder("\(round / 2)")
            let journal = folder.url.appendingPathComponent("journal")
            if !FileManager.default.fileExists(atPath: journal.path) {
                try Data([0]).write(to: journal)
            }
            let delay = UInt32.random(in: 0...120_000)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = folder.path as String, delay = delay as UInt32] in
                Thread.detachNewThread {
                    usleep(delay)
                    kill(getpid(), SIGKILL)
                }
                try VaultFolder(path: path).changePasswords()
            }
            let acknowledged = try require(Data(contentsOf: journal).first)
            entries[try folder.store().names().count, default: 0] += 1
            try folder.withVault(try folder.store()) { (vault: NoteVault) throws in
                let number = try require(vault.password(after: acknowledged))
                try Data([number]).write(to: journal)
                if number != acknowledged { changed += 1 }
                if try vault.titles().isEmpty { try vault.store("a", "text") }
                try check(vault.titles(), equals: ["a"])
                try check(vault.text(1), equals: "text")
            }
            if round % 2 == 1, round > 1 { try? FileManager.default.removeItem(at: folder.url) }
        }
        if Self.kills != nil {
            print(
                "kills of vaults by entries left: \(entries); \(changed) changes not acknowledged")
        }
    }

    private func subfolder(_ name: String) throws -> VaultFolder {
        let folder = VaultFolder(path: "\(folder.path)/\(name)")
        try FileManager.default.createDirectory(
            at: folder.url, withIntermediateDirectories: true)
        return folder
    }
}

private final class StepCounter: @unchecked Sendable {
    // @unchecked: used by one thread at a time.
    var count = 0
}

extension NoteVault {
    fileprivate func opens(with password: String) throws -> Bool {
        do {
            try levels.authWith(password: Data(password.utf8))
            return true
        } catch SecureVaultError.invalidPassword {
            return false
        }
    }

    /// Returns the number of the password that opens the vault: `number`, the next one, or nil.
    ///
    /// 0 is the generated password.
    fileprivate func password(after number: UInt8) throws -> UInt8? {
        for candidate in [number % 200 + 1, number] {
            if candidate == 0 {
                levels.lock()
                return try levels.requiresPassword() ? nil : 0
            }
            if try opens(with: "\(candidate)") { return candidate }
        }
        return nil
    }
}

extension VaultFolder {
    /// Changes the password repeatedly and acknowledges each change.
    fileprivate func changePasswords() throws {
        let file = open(url.appendingPathComponent("journal").path, O_RDWR)
        try require(file >= 0)
        try withVault(try store()) { (vault: NoteVault) throws in
            if try vault.titles().isEmpty { try vault.store("a", "text") }
            var number: UInt8 = 0
            try require(pread(file, &number, 1, 0) == 1)
            while true {
                let next = number % 200 + 1
                try vault.levels.resetL2Password(
                    oldPassword: number == 0 ? nil : Data("\(number)".utf8),
                    newPassword: Data("\(next)".utf8))
                number = next
                // Acknowledged: from now on the change must be stored.
                pwrite(file, &number, 1, 0)
            }
        }
    }
}
