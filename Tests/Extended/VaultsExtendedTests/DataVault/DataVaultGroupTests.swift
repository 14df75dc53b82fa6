import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import Vaults
    @testable import VaultsTests

    /// Programs of several users that share a vault through group permissions.
    @Suite(
        .enabled(if: getuid() == 0, "needs root, to be other users in child processes"))
    struct DataVaultGroupTests {
        let home: VaultHome

        init() throws {
            home = try VaultHome()
            try Users.share(home.sharedDirectory)
        }

        @Test func `members of a group share a vault, whatever their umasks`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(1)
                umask(0o077)
                let vault = try VaultHome(path: path).groupContainer()
                    .create(id: "a", password: "P4sSw0rD1")
                try vault.setString("from 1", value: "one")
            }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(2)
                umask(0)
                let home = VaultHome(path: path)
                let vault = try home.groupContainer().vault(id: "a")
                try vault.unlock(password: "P4sSw0rD1")
                try check(vault.getString("from 1"), equals: "one")
                try vault.setString("from 2", value: "two")
                // Including the log and its index.
                let modes = try home.sharedModes()
                check(modes.keys.contains { $0.hasSuffix("-wal") })
                check(modes.keys.contains { $0.hasSuffix("-shm") })
                for (name, mode) in modes { check(mode, equals: 0o660, "\(name)") }
                try vault.changePassword("P4sSw0rD2")
            }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(1)
                let home = VaultHome(path: path)
                let vault = try home.groupContainer().vault(id: "a")
                check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 5)
                try vault.unlock(password: "P4sSw0rD2")
                try check(vault.getString("from 2"), equals: "two")
                try check(home.groupContainer().delete(id: "a"))
                try check(home.sharedModes().keys.allSatisfy { !$0.contains(".vault") })
            }
        }

        @Test
        func `other users are refused, and so is a program that did not request group access`()
            async throws
        {
            _ = try await home.groupContainer().create(id: "a", password: "")
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(3, isMember: false)
                let home = VaultHome(path: path)
                check(vaultCode { _ = try home.groupContainer() }, equals: 4)
            }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(1)
                let home = VaultHome(path: path)
                let error = dataVaultError {
                    _ = try DataVaultContainer(directory: home.sharedDirectory)
                }
                check(error?.code, equals: 4)
                check(error?.description.contains("belongs to another user"), equals: true)
            }
        }

        @Test
        func `tries of all members count, and destruction reaches a member with the vault open`()
            async throws
        {
            var policy = DataVaultPasswordPolicy()
            policy.retryLimit = 3
            let vault = try await home.groupContainer()
                .create(id: "a", password: "P4sSw0rD1", policy: policy)
            for number in 1...2 {
                await #expect(processExitsWith: .success) {
                    [path = home.path as String, number = number as Int] in
                    Users.become(number)
                    let vault = try VaultHome(path: path).groupContainer().vault(id: "a")
                    let error = dataVaultError { try vault.unlock(password: "wrong password") }
                    check(error?.code, equals: 5)
                    try check(vault.triesLeft, equals: 3 - number)
                }
            }
            try vault.setString("name", value: "value")
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(1)
                let vault = try VaultHome(path: path).groupContainer().vault(id: "a")
                let error = dataVaultError { try vault.unlock(password: "wrong password") }
                check(error?.isSelfDestructed, equals: true)
            }
            check(
                dataVaultError { _ = try vault.getString("name") }?.isSelfDestructed, equals: true)
            try check(home.sharedModes().keys.allSatisfy { !$0.contains(".vault") })
        }

        @Test func `members that start at the same time create one vault and lose nothing`()
            async throws
        {
            let rounds = environmentNumber("SECURESTORAGE_ROUNDS", default: 5)
            for round in 1...rounds {
                try Users.share(home.sharedDirectory.appendingPathComponent("\(round)"))
            }
            await withTaskGroup(of: Void.self) { group in
                for number in 1...2 {
                    group.addTask {
                        await #expect(processExitsWith: .success) {
                            [
                                path = home.path as String, number = number as Int,
                                rounds = rounds as Int
                            ] in
                            Users.become(number)
                            umask(number == 1 ? 0o077 : 0o022)
                            for round in 1...rounds {
                                try VaultHome(path: path).workTogether(number, "\(round)")
                            }
                        }
                    }
                }
            }
            for round in 1...rounds {
                let vault = try home.groupContainer("\(round)").vault(id: "a")
                try await vault.unlock(password: "P4sSw0rD1")
                try check(vault.dataNames.count, equals: 20, "round \(round)")
            }
        }

        @Test func `what a killed member leaves does not block another one`() async throws {
            var moment = SuddenDeath.Moment()
            for round in 1...SuddenDeath.count(2) {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = home.path as String, delay = moment.next() as Int] in
                    Users.become(1)
                    umask(0o077)
                    SuddenDeath.after(microseconds: delay)
                    let container = try VaultHome(path: path).groupContainer()
                    while true {
                        let vault = try container.create(id: "a", password: "P4sSw0rD1")
                        try vault.setString("name", value: "value")
                        try container.delete(id: "a")
                    }
                }
                await #expect(processExitsWith: .success) { [path = home.path as String] in
                    Users.become(2)
                    let home = VaultHome(path: path)
                    let container = try home.groupContainer()
                    if try container.exists(id: "a") {
                        try container.vault(id: "a").unlock(password: "P4sSw0rD1")
                    }
                    try container.delete(id: "a")
                    let vault = try container.create(id: "a", password: "P4sSw0rD2")
                    try vault.setString("name", value: "value")
                    try container.delete(id: "a")
                    let left = try home.sharedModes().keys.filter { $0.contains(".vault") }
                    check(left, equals: [])
                }
                // Every other round starts over, so that kills also hit the very first steps.
                if round.isMultiple(of: 2) {
                    try FileManager.default.removeItem(at: home.sharedDirectory)
                    try Users.share(home.sharedDirectory)
                }
            }
        }

        @Test func `a log that was half created when SQLite was killed locks no one out`()
            async throws
        {
            do { _ = try await home.groupContainer().create(id: "a", password: "P4sSw0rD1") }
            let names = try home.sharedModes().keys
            let database = try require(names.first { $0.hasSuffix(".vault") })
            for suffix in ["-wal", "-shm"] {
                let path = home.sharedDirectory.path + "/" + database + suffix
                try require(FileManager.default.createFile(atPath: path, contents: nil))
                try require(chown(path, 64_001, Users.group) == 0 && chmod(path, 0o600) == 0)
            }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(2)
                let vault = try VaultHome(path: path).groupContainer().vault(id: "a")
                try vault.unlock(password: "P4sSw0rD1")
                try vault.setString("name", value: "value")
            }
        }

        @Test(arguments: [0o770, 0o640] as [mode_t])
        func `a database with another mode is refused, and the log of an open one is kept`(
            _ mode: mode_t
        ) async throws {
            let container = try home.groupContainer()
            let path = try await {
                _ = try await container.create(id: "a", password: "P4sSw0rD1")
                let names = try home.sharedModes().keys
                let name = try require(names.first { $0.hasSuffix(".vault") })
                return home.sharedDirectory.path + "/" + name
            }()
            let vault = try container.vault(id: "a")
            try await vault.unlock(password: "P4sSw0rD1")
            // As an administrator's `chmod -R` leaves it, with a log that no one has written to.
            for suffix in ["", "-wal", "-shm"] { try require(chmod(path + suffix, mode) == 0) }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(2)
                let vault = try VaultHome(path: path).groupContainer().vault(id: "a")
                let error = dataVaultError { try vault.unlock(password: "P4sSw0rD1") }
                check(error?.code, equals: 6)
                check(error?.description.contains("chmod"), equals: true)
            }
            for suffix in ["", "-wal", "-shm"] { check(access(path + suffix, F_OK), equals: 0) }
            try vault.setString("name", value: "value")
            for suffix in ["", "-wal", "-shm"] { try require(chmod(path + suffix, 0o660) == 0) }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                Users.become(2)
                let vault = try VaultHome(path: path).groupContainer().vault(id: "a")
                try vault.unlock(password: "P4sSw0rD1")
                try check(vault.getString("name"), equals: "value")
                try vault.setString("name", value: "of 2")
            }
            try check(vault.getString("name"), equals: "of 2")
        }

        @Test func `a directory of another user or of a foreign group is refused`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let home = VaultHome(path: path)
                try require(chown(home.sharedDirectory.path, 64_003, Users.group) == 0)
                try Self.expectRefusal(as: 1, home, "belongs to another user")
            }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let home = VaultHome(path: path)
                try require(chown(home.sharedDirectory.path, 0, 64_003) == 0)
                try require(chmod(home.sharedDirectory.path, 0o2770) == 0)
                try Self.expectRefusal(
                    as: 1, home, "a group that does not include this process's user")
            }
        }

        private static func expectRefusal(
            as user: Int, _ home: VaultHome, _ reason: String
        ) throws {
            Users.become(user)
            let error = dataVaultError { _ = try home.groupContainer() }
            check(error?.code, equals: 4)
            check(error?.description.contains(reason), equals: true)
        }

        @Test(arguments: [0o700, 0o770, 0o2771, 0o2775, 0o3770, 0o2750] as [mode_t])
        func `a directory with another mode is refused, with advice`(_ mode: mode_t) throws {
            try Users.share(home.sharedDirectory, mode: mode)
            let error = dataVaultError { _ = try home.groupContainer() }
            check(error?.code, equals: 4)
            check(error?.description.contains("with mode 2770"), equals: true)
            let url = home.sharedDirectory
            let refusal = keyStoreError {
                _ = try FileKeyStore(directory: url, sharedWithGroup: true)
            }
            check(refusal?.kind, equals: .refused)
        }

        @Test func `a key file of another group, or one that everyone can read, is refused`() throws
        {
            let keys = home.sharedDirectory
            let store = try FileKeyStore(directory: keys, sharedWithGroup: true)
            try store.store(.uniform(1), forName: "k")
            let name = try require(
                FileManager.default.contentsOfDirectory(atPath: keys.path).first)
            let path = "\(keys.path)/\(name)"
            try require(chmod(path, 0o664) == 0)
            check(keyStoreError { _ = try store.read("k") }?.kind, equals: .refused)
            try require(chmod(path, 0o660) == 0 && chown(path, 0, 0) == 0)
            check(keyStoreError { _ = try store.read("k") }?.kind, equals: .refused)
            try require(chown(path, 64_003, Users.group) == 0)
            try check(store.read("k"), equals: .uniform(1))
        }

        @Test func `an access group given as a path is a directory that a group shares`()
            async throws
        {
            for number in 1...2 {
                await #expect(processExitsWith: .success) {
                    [path = home.sharedDirectory.path as String, number = number as Int] in
                    Users.become(number)
                    try DataVault.setAccessGroup(path)
                    if number == 1 {
                        _ = try DataVault.create(id: "a", password: "")
                    } else {
                        try DataVault.vault(id: "a").unlock(password: "")
                        try check(DataVault.delete(id: "a"))
                    }
                }
            }
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                check(vaultCode { try DataVault.setAccessGroup(path + "/missing") }, equals: 6)
                let open = URL(fileURLWithPath: path + "/open")
                for mode in [0o777, 0o2777, 0o770, 0o700] as [mode_t] {
                    try Users.share(open, mode: mode)
                    check(vaultCode { try DataVault.setAccessGroup(open.path) }, equals: 4)
                }
                try check(FileManager.default.contentsOfDirectory(atPath: open.path), equals: [])
            }
        }

        @Test func `a group's directory is refused below one that another user can change`()
            async throws
        {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let parent = path + "/parent"
                let shared = URL(fileURLWithPath: parent + "/shared")
                try Users.share(shared)
                for (owner, mode) in [(1000, 0o755), (0, 0o775), (0, 0o777)] as [(uid_t, mode_t)] {
                    chown(parent, owner, 0)
                    chmod(parent, mode)
                    let error = dataVaultError { try DataVault.setAccessGroup(shared.path) }
                    check(error?.code, equals: 4)
                    check(error?.description.contains("must belong to root"), equals: true)
                }
                // Sticky, like /tmp.
                chmod(parent, 0o1777)
                try DataVault.setAccessGroup(shared.path)
            }
        }
    }

    extension VaultHome {
        /// The directory that the group shares.
        fileprivate var sharedDirectory: URL { url.appendingPathComponent("shared") }

        /// Like `container()`, for the group; with a name, in a directory of that name.
        fileprivate func groupContainer(_ name: String = "") throws -> DataVaultContainer {
            try DataVaultContainer(
                directory: sharedDirectory.appendingPathComponent(name), keyStore: nil,
                access: .group, clock: clock, date: { [date] in date.now },
                makePasswordKey: { QuickPasswordKey(password: $0) })
        }

        /// Returns the modes of the files in the shared directory, which include the keys.
        fileprivate func sharedModes(_ name: String = "") throws -> [String: mode_t] {
            let directory = sharedDirectory.appendingPathComponent(name).path
            var modes: [String: mode_t] = [:]
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                var status = stat()
                try require(lstat("\(directory)/\(name)", &status) == 0)
                check(status.st_gid, equals: Users.group, "\(name)")
                modes[name] = status.st_mode & 0o7777
            }
            return modes
        }

        /// Plays one of two members that both create the vault if it is missing, then write to it.
        fileprivate func workTogether(_ number: Int, _ name: String) throws {
            let container = try groupContainer(name)
            _ = vaultCode { _ = try container.create(id: "a", password: "P4sSw0rD1") }
            let vault = try container.vault(id: "a")
            for value in 0..<10 {
                try vault.unlock(password: "P4sSw0rD1")
                try vault.setString("\(number)-\(value)", value: "value")
                if value.isMultiple(of: 3) { vault.lock() }
            }
        }
    }
#endif
