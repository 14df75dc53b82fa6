import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

/// Password calls that are interrupted by a lock, a damaged file, or callers that bypass the lock
/// file.
struct DataVaultInterruptionTests {
    let home: VaultHome
    let gate = Gate()
    let container: DataVaultContainer
    let vault: DataVault

    init() throws {
        home = try VaultHome()
        container = try home.container(passing: gate)
        vault = try container.create(id: "a", password: "P4sSw0rD1")
        vault.lock()
    }

    /// Locks the vault while `call` derives a key, and returns the error code of the call.
    private func code(_ call: @escaping @Sendable () throws -> Void) -> Int? {
        gate.close()
        let answer = Answer(call)
        while !gate.isSomebodyWaiting { usleep(1000) }
        vault.lock()
        gate.open()
        return answer.code
    }

    @Test func `a lock during an unlock leaves the vault locked`() throws {
        let unlocked = code { [vault] in try vault.unlock(password: "P4sSw0rD1") }
        check(unlocked, equals: 8)
        check(vault.isLocked)
        try check(container.records.read(vault.place)?.tries.count, equals: 0)
        try vault.unlock(password: "P4sSw0rD1")
    }

    @Test func `a lock during a password change leaves the vault locked, with the new password`()
        throws
    {
        let changed = code { [vault] in
            try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2")
        }
        check(changed, equals: 8)
        check(vault.isLocked)
        try vault.unlock(password: "P4sSw0rD2")
    }

    @Test func `a lock during creation leaves the vault locked and intact`() throws {
        try container.delete(id: "a")
        let created = code { [container] in
            _ = try container.create(id: "a", password: "P4sSw0rD3")
        }
        check(created, equals: 8)
        check(vault.isLocked)
        try vault.unlock(password: "P4sSw0rD3")
        try check(vault.dataNames, equals: [])
    }

    @Test func `a password is not changed if the database cannot be opened`() throws {
        let database = try require(home.databases().first)
        let bytes = try Data(contentsOf: database)
        for suffix in ["-wal", "-shm"] { unlink(database.path + suffix) }
        try Data(repeating: 1, count: bytes.count).write(to: database)
        let code = vaultCode { try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2") }
        check(code, equals: 6)
        try check(container.records.read(vault.place)?.tries.count, equals: 0)
        try bytes.write(to: database)
        try vault.unlock(password: "P4sSw0rD1")
    }

    @Test func `bypassing the lock file does not give two answers for one try`() throws {
        gate.close()
        let first = Answer { [vault] in try vault.unlock(password: "wrong password") }
        while !gate.isSomebodyWaiting { usleep(1000) }
        unlink(vault.place.recordLock.path)
        let second = Answer { [vault] in try vault.unlock(password: "wrong password") }
        while gate.countOfWaiting < 2 { usleep(1000) }
        gate.open()
        check([first.code, second.code], equals: [7, 5])
        try check(container.records.read(vault.place)?.tries.count, equals: 2)
    }

    @Test func `a record that another caller has stored is not overwritten`() throws {
        var old = try require(container.records.read(vault.place))
        var new = old
        new.tries.count = 7
        try container.records.store(&new, vault.place)
        check(vaultCode { try container.records.store(&old, vault.place) }, equals: 7)
        try check(container.records.read(vault.place)?.tries.count, equals: 7)
        // A caller that stores the same record again counts as another caller, too.
        var same = try require(container.records.read(vault.place))
        try container.records.store(&same, vault.place)
        check(vaultCode { try container.records.requireStored(new, vault.place) }, equals: 7)
    }

    @Test func `a missing lock file is created, and acquired without waiting`() throws {
        for access in [FileAccess.owner, .group] {
            let lock = ProcessLock(path: home.path + "/some.lock", access: access)
            let hadIt = try lock.held(patience: .zero) { true }
            check(hadIt, equals: true)
            unlink(lock.path)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: home.path)
        check(names.filter { $0.hasPrefix("some") }, equals: [])
    }

    @Test func `a lock file that is replaced while a caller waits still has one holder at a time`()
        throws
    {
        let lock = ProcessLock(path: home.path + "/some.lock", access: .owner)
        let first = Gate()
        first.close()
        let holder = Answer { try lock.held { first.pass() } }
        while !first.isSomebodyWaiting { usleep(1000) }
        let count = NSLock()
        nonisolated(unsafe) var (inside, most) = (0, 0)
        func waiter() -> Answer {
            Answer {
                try lock.held {
                    count.withLock {
                        inside += 1
                        most = max(most, inside)
                    }
                    usleep(300_000)
                    count.withLock { inside -= 1 }
                }
            }
        }
        let old = waiter()
        usleep(100_000)
        unlink(lock.path)
        let new = waiter()
        usleep(100_000)
        first.open()
        check([holder.code, old.code, new.code], equals: [nil, nil, nil])
        check(most, equals: 1)
    }

    #if os(Linux)
        @Test(.enabled(if: !Sanitizer.isPresent))
        func `the right password opens the vault even without the memory for a stronger wrapping`()
            async throws
        {
            let vault = try await home.realContainer().create(id: "b", password: "P4sSw0rD1")
            vault.lock()
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let home = VaultHome(path: path)
                let strong = try DataVaultContainer(
                    directory: home.directory, keyStore: home.keyStore(),
                    parameters: ScryptParameters(costExponent: 20, blockSize: 8, parallelism: 1))
                let vault = try strong.vault(id: "b")
                let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
                    .split(separator: " ").first.flatMap { UInt($0) }
                let size = try require(pages) * UInt(sysconf(Int32(_SC_PAGESIZE)))
                let most = size + (400 << 20)
                var limit = rlimit(rlim_cur: most, rlim_max: most)
                try require(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
                // At this cost, a new password cannot be set.
                let changed = vaultCode {
                    try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2")
                }
                try require(changed == 13)
                try vault.unlock(password: "P4sSw0rD1")
                try require(vault.dataNames == [])
            }
        }
    #endif
}

/// A call on a separate thread.
final class Answer: @unchecked Sendable {
    // @unchecked: `found` is set before the group is left, and read after that.
    private let group = DispatchGroup()
    private var found: Int?

    init(_ call: @escaping @Sendable () throws -> Void) {
        group.enter()
        Thread.detachNewThread {
            self.found = vaultCode(call)
            self.group.leave()
        }
    }

    /// The result of `vaultCode`; waits for the call.
    var code: Int? {
        group.wait()
        return found
    }
}
