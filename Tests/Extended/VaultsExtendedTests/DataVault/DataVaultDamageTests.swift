import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import SecureKeys
    @testable import Vaults
    @testable import VaultsTests

    /// Damaged records, key files and databases, in a separate process and within bounds of time
    /// and memory.
    ///
    /// SECURESTORAGE_DAMAGES=10000 tries that many of each kind; the default is smaller.
    struct DataVaultDamageTests {
        static let count = environmentNumber("SECURESTORAGE_DAMAGES", default: 150)

        enum Kind: String, CaseIterable, Codable {
            case record, recordFile, deviceKey, database
        }

        @Test(.enabled(if: !Sanitizer.isPresent), arguments: Kind.allCases)
        func `a damaged vault fails quickly and never destroys itself`(_ kind: Kind) async throws {
            let home = try VaultHome()
            defer { withExtendedLifetime(home) {} }
            await #expect(processExitsWith: .success) {
                [kind = kind as Kind, path = home.path as String] in
                let target = try DamagedVault(VaultHome(path: path))
                let before = peakMemory()
                let seed = Campaign.seed
                var damage = Damage(seed: seed)
                var slowest: Duration = .zero
                var intact = 0
                var (round, errors) = (0, 0)
                while errors < Self.count {
                    round += 1
                    let start = (ThreadTime.now, ContinuousClock.now)
                    let isRefused = try target.refuses(kind, &damage)
                    slowest = max(slowest, ThreadTime.now - start.0)
                    // Not waiting either, but the machine may be busy.
                    check(ContinuousClock.now - start.1 < .seconds(20))
                    if isRefused { errors += 1 } else { intact += 1 }
                    try require(isRefused || kind == .database, "seed \(seed), round \(round)")
                }
                try target.requireWhole()
                if Self.count > 1000 {
                    print("damaged \(kind): slowest \(slowest), \(intact) without effect")
                }
                check(slowest < .seconds(2))
                check(peakMemory() - before < 256 << 20)
                // An eighth is without effect, as random bytes fall.
                check(intact < max(10, Self.count / 3))
            }
        }
    }

    /// A vault that a single wrong password destroys, and the damage done to its parts.
    private struct DamagedVault {
        let home: VaultHome
        let keyStore: FileKeyStore
        let container: DataVaultContainer
        let vault: DataVault
        let values: [String: Data]
        let database: URL
        let databaseBytes: Data
        let recordFile: URL
        let recordFileBytes: Data
        let record: Data
        let deviceKey: Data

        init(_ home: VaultHome) throws {
            self.home = home
            keyStore = try home.keyStore()
            container = try home.container(keyStore)
            var policy = DataVaultPasswordPolicy()
            policy.retryLimit = 1
            vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
            var values: [String: Data] = [:]
            for number in 0..<60 {
                values["name \(number)"] = Data(
                    repeating: UInt8(number), count: number.isMultiple(of: 10) ? 9000 : 200)
            }
            for (name, value) in values { try vault.setValue(name, value: value) }
            self.values = values
            vault.lock()
            let databases = try home.databases()
            database = try require(databases.first)
            databaseBytes = try Data(contentsOf: database)
            let name = try KeyFile.fileName(of: SecretName("datavault.id.a"))
            recordFile = home.url.appendingPathComponent("keys/\(name)")
            recordFileBytes = try Data(contentsOf: recordFile)
            record = try keyStore.read("datavault.id.a").copied
            deviceKey = try keyStore.read("datavault.device-key").copied
        }

        /// Damages a part, then tries the vault with the right password and, unless the part is the
        /// database, with wrong ones.
        ///
        /// - Returns: False if the damage had no effect. Throws for a fault of the library.
        func refuses(_ kind: DataVaultDamageTests.Kind, _ damage: inout Damage) throws -> Bool {
            switch kind {
            case .record:
                var bytes = damage.change(record, [record], chunk: 16)
                if bytes.count > 8, Bool.random(using: &damage.generator) {
                    bytes = SealedBytes.withChecksum(bytes)
                }
                guard bytes != record, !bytes.isEmpty else { return true }
                try keyStore.store(SecretBytes(copying: bytes), forName: "datavault.id.a")
                defer {
                    try? keyStore.store(SecretBytes(copying: record), forName: "datavault.id.a")
                }
                return try refusesPasswords()
            case .recordFile:
                try overwrite(
                    recordFile, damage.change(recordFileBytes, [recordFileBytes], chunk: 16))
                defer { try? overwrite(recordFile, recordFileBytes) }
                return try refusesPasswords()
            case .deviceKey:
                let bytes = damage.change(deviceKey, [deviceKey], chunk: 4)
                guard bytes != deviceKey, !bytes.isEmpty else { return true }
                try keyStore.store(SecretBytes(copying: bytes), forName: "datavault.device-key")
                defer {
                    try? keyStore.store(
                        SecretBytes(copying: deviceKey), forName: "datavault.device-key")
                }
                return try refusesPasswords()
            case .database:
                let bytes = damage.change(databaseBytes, [databaseBytes], chunk: 4096)
                try overwrite(database, bytes)
                defer { try? overwrite(database, databaseBytes) }
                let isWhole = try readsAll()
                // Bytes appended after the last page belong to no page and change nothing.
                try require(!isWhole || bytes.starts(with: databaseBytes))
                return !isWhole
            }
        }

        private func refusesPasswords() throws -> Bool {
            for password in ["wrong password", "P4sSw0rD1", ""] {
                try require(vaultCode { try vault.unlock(password: password) } == 6)
            }
            try require(vaultCode { _ = try container.create(id: "a", password: "") } == 1)
            try require(container.exists(id: "a"))
            return true
        }

        /// Returns whether every value is unchanged, or false if the vault reports a read error.
        private func readsAll() throws -> Bool {
            defer { vault.lock() }
            do {
                try vault.unlock(password: "P4sSw0rD1")
                let names = try vault.dataNames
                try require(names.count == values.count)
                for (name, value) in values { try require(vault.getValue(name) == value) }
                return true
            } catch DataVaultError.ioReadError {
                try require(vault.triesLeft == 1)
                return false
            }
        }

        func requireWhole() throws {
            try require(container.ids() == ["a"])
            try require(vault.triesLeft == 1)
            try require(readsAll())
        }

        /// Overwrites the file in place, keeping its mode, and removes the files that SQLite left
        /// beside it.
        private func overwrite(_ url: URL, _ bytes: Data) throws {
            for suffix in ["-wal", "-shm"] { unlink(url.path + suffix) }
            let file = try FileHandle(forWritingTo: url)
            defer { try? file.close() }
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: bytes)
        }
    }
#endif
