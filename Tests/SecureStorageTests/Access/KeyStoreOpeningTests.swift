import Foundation
import SecureKeys
import SecureStorage
import Testing
import TestSupport

/// `open(at:keyIn:named:)`: a file and its key, made together.
struct KeyStoreOpeningTests {
    private let database: TemporaryDatabase
    private let url: URL
    private let keys = InMemoryKeyStore()

    init() throws {
        database = try TemporaryDatabase()
        url = URL(fileURLWithPath: database.path)
    }

    private func queue(_ configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }) throws
        -> SecureDatabaseQueue
    {
        var configuration = SecureDatabaseConfiguration()
        configure(&configuration)
        return try .open(
            at: url, keyIn: keys, named: "notes", migrations: .notes,
            configuration: configuration)
    }

    private func makeNew() throws {
        let first = try queue()
        try first.execute("INSERT INTO note (text) VALUES (\("milk"))")
        first.close()
    }

    @Test func `the first call makes both, the next ones use them`() async throws {
        try makeNew()
        let key = try keys.read("notes")
        check(key.count, equals: 32)
        let pool = try await SecureDatabasePool.open(at: url, keyIn: keys, named: "notes")
        try await check(pool.count(in: "note"), equals: 1)
        await pool.close()
        let again = try await SecureDatabaseQueue.open(at: url, keyIn: keys, named: "notes")
        try await check(again.count(in: "note"), equals: 1)
        check(try keys.read("notes") == key)
    }

    @Test func `a file whose key is gone is an error, and gets no new key`() throws {
        try queue().close()
        try keys.remove("notes")
        #expect(throws: KeyStoreError.notFound(name: "notes")) { try queue() }
        check(try keys.names(), equals: [])
        check(SecureDatabaseStore.exists(at: url))
    }

    @Test func `a file that must exist, or is only read, gets no key`() throws {
        for configure: (inout SecureDatabaseConfiguration) -> Void in [
            { $0.createsFile = false }, { $0.isReadOnly = true },
        ] {
            check(storageError { _ = try queue(configure) }?.resultCode, equals: .cannotOpen)
        }
        check(try keys.names(), equals: [])
    }

    @Test func `a key store that refuses leaves no file`() throws {
        struct Locked: KeyStore {
            func store(_ secret: SecretBytes, forName name: String) throws { throw refusal }
            func insert(_ secret: SecretBytes, forName name: String) throws { throw refusal }
            func read(_ name: String) throws -> SecretBytes { throw refusal }
            func remove(_ name: String) throws -> Bool { throw refusal }
            func names() throws -> [String] { throw refusal }
            var refusal: KeyStoreError { .unavailable(reason: "it is locked") }
        }
        #expect(throws: KeyStoreError.self) {
            try SecureDatabasePool.open(at: url, keyIn: Locked(), named: "notes")
        }
        check(!SecureDatabaseStore.exists(at: url))
    }

    @Test func `a failed creation leaves the key, which the next one uses`() throws {
        var wrong = SchemaMigrations()
        wrong.add("wrong", sql: "CREATE TABLE")
        check(
            storageError {
                _ = try SecureDatabasePool.open(
                    at: url, keyIn: keys, named: "notes", migrations: wrong)
            } != nil)
        check(!SecureDatabaseStore.exists(at: url))
        let key = try keys.read("notes")
        try queue().close()
        check(try keys.read("notes") == key)
    }

    @Test func `callers at the same time make one file with one key`() async throws {
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask { [keys, url] in
                    let pool = try await SecureDatabasePool.open(
                        at: url, keyIn: keys, named: "notes", migrations: .notes)
                    try await pool.execute("INSERT INTO note (text) VALUES (\("\(number)"))")
                    return try await pool.count(in: "note")
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        check(counts.max(), equals: 8)
        check(try keys.names(), equals: ["notes"])
    }
}
