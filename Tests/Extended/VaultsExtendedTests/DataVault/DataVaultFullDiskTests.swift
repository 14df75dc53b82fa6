import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import Vaults
    @testable import VaultsTests

    /// Vaults on a disk that is full or read-only.
    @Suite(.enabled(if: SmallDisk.isAvailable, "needs a right to mount a tmpfs"))
    struct DataVaultFullDiskTests {
        /// A container whose keys are on the same disk.
        private static func container(_ disk: String) throws -> DataVaultContainer {
            let directory = URL(fileURLWithPath: disk).appendingPathComponent("vaults")
            return try DataVaultContainer(directory: directory, keyStore: nil) {
                QuickPasswordKey(password: $0)
            }
        }

        private func makeVaults(_ disk: SmallDisk) throws {
            let container = try Self.container(disk.directory.path)
            for (id, limit) in [("a", 0), ("limited", 3)] {
                var policy = DataVaultPasswordPolicy()
                policy.retryLimit = limit
                let vault = try container.create(id: id, password: "P4sSw0rD1", policy: policy)
                try vault.setString("name", value: "value of \(id)")
                vault.lock()
            }
        }

        @Test func `a vault on a full disk opens, and can be read and deleted`() async throws {
            let disk = try SmallDisk(kilobytes: 1024)
            try makeVaults(disk)
            await #expect(processExitsWith: .success) {
                [disk = disk.directory.path as String] in
                try Self.useFullDisk(disk)
            }
        }

        private static func useFullDisk(_ disk: String) throws {
            let container = try Self.container(disk)
            let ballast = Ballast(directory: disk)
            try ballast.fill()
            let vault = try container.vault(id: "a")
            check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
            try vault.unlock(password: "P4sSw0rD1")
            try check(vault.getString("name"), equals: "value of a")
            let full = dataVaultError { try vault.setString("name", value: "other") }
            check(full?.code, equals: 7)
            try check(vault.getString("name"), equals: "value of a")
            vault.lock()
            try vault.unlock(password: "P4sSw0rD1")

            try check(container.delete(id: "a"))
            try check(!container.exists(id: "a"))
            let names = try FileManager.default.contentsOfDirectory(atPath: disk + "/vaults")
            check(names.filter { $0.hasSuffix(".vault") }.count, equals: 1)
        }

        @Test func `a vault that limits tries does not open while none can be counted`()
            async throws
        {
            let disk = try SmallDisk(kilobytes: 1024)
            try makeVaults(disk)
            await #expect(processExitsWith: .success) {
                [disk = disk.directory.path as String] in
                try Self.fillUp(disk)
            }
        }

        private static func fillUp(_ disk: String) throws {
            let container = try Self.container(disk)
            let ballast = Ballast(directory: disk)
            try ballast.fill()
            let vault = try container.vault(id: "limited")
            for password in ["wrong password", "P4sSw0rD1"] {
                let error = dataVaultError { try vault.unlock(password: password) }
                check(error?.code, equals: 7)
                check(error?.description.contains("No space left on device"), equals: true)
                check(error?.description.contains("free some space"), equals: true)
                check(error?.description.contains("new key"), equals: false)
            }
            try ballast.remove()
            try vault.unlock(password: "P4sSw0rD1")
            try check(vault.getString("name"), equals: "value of limited")
        }

        @Test func `a vault on a read-only disk opens and can be read`() throws {
            let disk = try SmallDisk(kilobytes: 1024)
            try makeVaults(disk)
            // A process that another test starts has a copy of every descriptor for a moment, also
            // of those that wrote.
            let status = try (1...100).lazy.map { _ in
                usleep(10_000)
                return try ChildProcess("mount", ["-o", "remount,ro", disk.directory.path]).status
            }.first { $0 == 0 }
            try require(status == 0)
            let container = try Self.container(disk.directory.path)
            let vault = try container.vault(id: "a")
            try vault.unlock(password: "P4sSw0rD1")
            try check(vault.getString("name"), equals: "value of a")
            check(vaultCode { try vault.setString("name", value: "other") }, equals: 7)
            let limited = try container.vault(id: "limited")
            let error = dataVaultError { try limited.unlock(password: "P4sSw0rD1") }
            check(error?.code, equals: 7)
            check(error?.description.contains("Read-only file system"), equals: true)
            vault.lock()
            let new = dataVaultError {
                _ = try container.create(id: "new", password: "P4sSw0rD1")
            }
            check(new?.code, equals: 7)
            check(new?.description.contains("Read-only file system"), equals: true)
        }
    }
#endif
