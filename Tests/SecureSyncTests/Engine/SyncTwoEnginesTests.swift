import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing

@testable import SyncWorlds

/// Two engines that work on one file at once, as an app and a command line beside it do.
@Suite struct SyncTwoEnginesTests {
    private let objects = WorldObjects()

    @Test func `two engines on one file send and apply everything, and stay one member`()
        async throws
    {
        let (phone, server) = (try WorldDevice("d0", objects), try WorldDevice("d1", objects))
        try await phone.engine.createGroup(deviceName: "d0")
        try await server.engine.join(
            try await phone.engine.invite(.once), deviceName: "d1", localRows: .keep)
        try await server.engine.syncOnce()
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        let queue = SecureDatabaseQueue(url: server.database.url, configuration: configuration)
        try await queue.open(with: .raw(TemporaryDatabase.key))
        let second = try SyncEngine(
            queue, capture: Capture(WorldDevice.tables(.first)), store: WorldStore(objects),
            keyStore: server.keyStore, policy: WorldDevice.policy)

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
        #expect(try phone.rows() == server.rows())
        #expect(try phone.rows().count == 120)
        #expect(try await phone.engine.members().count == 2)
        await queue.close()
    }
}
