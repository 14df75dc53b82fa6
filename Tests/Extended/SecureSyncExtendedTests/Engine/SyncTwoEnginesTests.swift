import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SyncSimulator
@testable import SecureSyncTests

/// Two engines that work on one file at once, as an app and a command line beside it do.
struct SyncTwoEnginesTests {
    private let objects = SimulatedObjects()

    @Test func `two engines on one file send and apply everything, and stay one member`()
        async throws
    {
        let (phone, server) = (
            try SimulatedDevice("d0", objects), try SimulatedDevice("d1", objects)
        )
        try await phone.engine.createGroup(deviceName: "d0")
        try await server.engine.join(
            try await phone.engine.invite(.once, role: .admin), deviceName: "d1", localRows: .keep)
        try await server.engine.syncOnce()
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        let queue = SecureDatabaseQueue(url: server.database.url, configuration: configuration)
        try await queue.open(with: .raw(TemporaryDatabase.key))
        let second = try SyncEngine(
            queue, capture: Capture(SimulatedDevice.tables(.first)), store: SimulatedStore(objects),
            keyStore: server.keyStore, policy: SimulatedDevice.policy)

        let (first, other, firstQueue, otherQueue) = (
            server.engine, phone.engine, server.queue, phone.queue
        )
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for (name, engine, queue) in [
                ("first", first, firstQueue), ("second", second, queue),
                ("other", other, otherQueue),
            ] {
                tasks.addTask {
                    for number in 0..<40 {
                        try await queue.write {
                            try $0.executeStatements(
                                "INSERT INTO parent VALUES ('\(name) \(number)', \(number), NULL)")
                        }
                        try await engine.syncOnce()
                    }
                }
            }
            try await tasks.waitForAll()
        }
        for _ in 0..<3 { for engine in [other, first, second] { try await engine.syncOnce() } }
        try check(phone.rows(), equals: server.rows())
        try check(phone.rows().count, equals: 120)
        try await check(phone.engine.members().count, equals: 2)
        await queue.close()
    }

    @Test func `an engine that waits too long for another one says so, and continues after it`()
        async throws
    {
        let database = try TemporaryDatabase()
        let url = database.url
        var first = try await EngineLock.take(beside: url, patience: .zero)
        try require(first != nil)
        await #expect(throws: SyncError.otherEngine) {
            _ = try await EngineLock.take(beside: url, patience: .milliseconds(50))
        }
        let second = Task { try await EngineLock.take(beside: url, patience: .seconds(60)) != nil }
        try await Task.sleep(for: .milliseconds(50))
        first = nil
        try await check(second.value)
        // The last one removes the lock's file.
        let folder = url.deletingLastPathComponent().path
        try check(FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    }

    @Test func `an engine whose lock's file was removed leaves the next one's in its place`()
        async throws
    {
        let database = try TemporaryDatabase()
        let (url, path) = (database.url, database.path + "-sync")
        var first = try await EngineLock.take(beside: url, patience: .zero)
        try require(first != nil)
        unlink(path)
        let second = try await EngineLock.take(beside: url, patience: .zero)
        try require(second != nil)
        first = nil
        await #expect(throws: SyncError.otherEngine) {
            _ = try await EngineLock.take(beside: url, patience: .zero)
        }
        withExtendedLifetime(second) {}
    }

    @Test(.enabled(if: geteuid() == 0))
    func `what root's engine leaves when it is killed does not keep the database's owner out`()
        async throws
    {
        let database = try TemporaryDatabase()
        try Data().write(to: database.url)
        check(chown(database.path, 65534, 65534), equals: 0)
        check(chmod(database.path, 0o640), equals: 0)
        let lock = try await EngineLock.take(beside: database.url, patience: .zero)
        var status = stat()
        check(stat(database.path + "-sync", &status), equals: 0)
        check((status.st_uid, status.st_gid, status.st_mode & 0o777) == (65534, 65534, 0o640))
        withExtendedLifetime(lock) {}
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a file that another user has put in the lock's place keeps its owner and its mode`()
        async throws
    {
        let database = try TemporaryDatabase()
        try Data().write(to: database.url)
        check(chown(database.path, 65534, 65534), equals: 0)
        let secret = database.url.deletingLastPathComponent().appendingPathComponent("secret")
        try Data("root's".utf8).write(to: secret)
        check(chmod(secret.path, 0o600), equals: 0)
        func place(_ make: (String, String) -> Int32) async throws {
            check(make(secret.path, database.path + "-sync"), equals: 0)
            let lock = try? await EngineLock.take(beside: database.url, patience: .zero)
            var status = stat()
            check(stat(secret.path, &status), equals: 0)
            check((status.st_uid, status.st_mode & 0o777) == (0, 0o600))
            withExtendedLifetime(lock) {}
            unlink(database.path + "-sync")
        }
        try await place { link($0, $1) }
        try await place { symlink($0, $1) }
        try await place { _, path in mkfifo(path, 0o666) }
        try check(Data(contentsOf: secret), equals: Data("root's".utf8))
    }
}
