import TestSupport

#if os(Linux)
    import Foundation
    import Testing

    @testable import SecureStorage
    @testable import SecureStorageTests

    /// What is left of a key in the memory of a process; each test runs in a separate process.
    @Suite(.enabled(if: !Sanitizer.isPresent)) struct MemoryTests {
        @Test(.engineClearsKeys)
        func `after close the raw key is nowhere in memory`() async {
            await #expect(processExitsWith: .success) {
                var key: SecretBytes? = SecretBytes.random(count: 32)
                let needle = Needle(of: key)
                try Leftovers.use({ .raw($0) }, &key)
                try Leftovers.expectNone([needle, needle.hexadecimal])
            }
        }

        @Test(.engineClearsKeys)
        func `after close neither the passphrase nor its derived key is in memory`() async {
            await #expect(processExitsWith: .success) {
                var passphrase: SecretBytes? = Leftovers.passphrase()
                let needle = Needle(of: passphrase)
                let derived = try Leftovers.use({ .passphrase($0) }, &passphrase)
                try Leftovers.expectNone([needle, derived, derived.hexadecimal])
            }
        }

        @Test func `after a failed open the wrong passphrase is nowhere in memory`() async {
            await #expect(processExitsWith: .success) {
                let database = try TemporaryDatabase()
                try database.openStore().close()
                var passphrase: SecretBytes? = Leftovers.passphrase()
                let needle = Needle(of: passphrase)
                try Leftovers.failToOpen(database, &passphrase)
                try Leftovers.expectNone([needle])
            }
        }

        @Test(.engineClearsKeys)
        func `after close a pool leaves no key in memory, from before or after its change`() async {
            await #expect(processExitsWith: .success) {
                var (old, new): (SecretBytes?, SecretBytes?) = (
                    Leftovers.passphrase(), SecretBytes.random(count: 32)
                )
                let needles = [Needle(of: old), Needle(of: new), Needle(of: new).hexadecimal]
                try Leftovers.usePool(&old, &new)
                try Leftovers.expectNone(needles)
            }
        }
    }

    extension Needle {
        fileprivate init(of secret: SecretBytes?) {
            self = secret?.withUnsafeBytes { Needle($0) } ?? Needle([])
        }
    }

    /// The work whose leftovers are searched for, in separate functions so that what they hold is
    /// released.
    private enum Leftovers {
        static func passphrase() -> SecretBytes {
            SecretBytes(count: 24) { bytes in
                for index in bytes.indices { bytes[index] = .random(in: 97...122) }
            }
        }

        @discardableResult
        static func use(
            _ kind: (SecretBytes) -> DatabaseKey, _ secret: inout SecretBytes?
        ) throws -> Needle {
            let database = try TemporaryDatabase()
            let needle = Needle(of: secret)
            guard let given = secret.take() else { throw SecureStorageError.closed }
            let db = database.store()
            try db.open(with: kind(given))
            try db.executeUpdate("CREATE TABLE t (a)")
            db.close()
            try db.open(with: kind(given))
            try db.executeUpdate("INSERT INTO t VALUES (randomblob(10000))")
            let derived = db.connection?.key.map { Needle(of: $0.key) }
            // Otherwise the search could not find anything.
            try withExtendedLifetime(given) {
                guard try needle.countInProcess() > 0, let derived,
                    try derived.countInProcess() > 0
                else { throw CocoaError(.featureUnsupported) }
            }
            db.close()
            return derived ?? needle
        }

        static func failToOpen(_ database: TemporaryDatabase, _ secret: inout SecretBytes?) throws {
            guard let given = secret.take() else { return }
            let db = database.store()
            guard
                case .authenticationFailed = storageError({ try db.open(with: .passphrase(given)) })
            else { throw CocoaError(.featureUnsupported) }
        }

        static func usePool(_ old: inout SecretBytes?, _ new: inout SecretBytes?) throws {
            guard let oldKey = old.take(), let newKey = new.take() else { return }
            let database = try TemporaryDatabase()
            let pool = SecureDatabasePool(fullDatabasePath: database.path)
            try pool.open(with: .passphrase(oldKey))
            try pool.write { try $0.executeUpdate("CREATE TABLE t (a)") }
            _ = try pool.read { try $0.int("SELECT count(*) FROM t") }
            try pool.changeEncryptionKey(with: .raw(newKey))
            onThreads(4) { _ in
                for _ in 0..<20 { _ = try? pool.read { try $0.int("SELECT count(*) FROM t") } }
            }
            pool.close()
        }

        static func expectNone(_ needles: [Needle]) throws {
            for (number, needle) in needles.enumerated() {
                let count = try needle.countInProcess()
                check(count, equals: 0, "needle \(number)")
            }
        }
    }
#endif
