import Foundation
import StoreChecks
import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// Programs that sync through one store, and are killed every 50 ms.
struct SyncKillTests {
    @Test(arguments: MirrorPlace.Kind.available)
    func `four programs under kills lose no commit, and see no event before its causes`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        let kills = SuddenDeath.count(16)
        let home = try TemporaryDatabase()
        let place = MirrorPlace(kind, in: home.directory)
        let names = ["a", "b", "c", "d"]
        let folders = names.map { home.directory.appendingPathComponent($0) }
        try await found(folders, place)

        let proxy = kind == .directory ? nil : try CuttingProxy(to: place.serverPort)
        let cutting = Task {
            while let proxy, !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(.random(in: 20...400)))
                proxy.cut()
            }
        }
        defer { cutting.cancel() }
        func start(_ index: Int) throws -> Worker {
            try Worker([
                "sync", folders[index].path, place.description, names[index], "\(proxy?.port ?? 0)",
            ])
        }
        var workers = try names.indices.map(start)
        // As in practice, most kills meet a program that is at work.
        try await Task.sleep(for: .milliseconds(200))
        for _ in 0..<kills {
            let index = Int.random(in: names.indices)
            try await workers[index].kill(after: .milliseconds(50))
            workers[index] = try start(index)
        }
        for worker in workers { try await worker.kill(after: .zero) }
        cutting.cancel()

        let members = try folders.map { try EventMember(in: $0, store: place.store()) }
        for round in 0... {
            var isQuiet = true
            for member in members {
                let report = try await member.engine.syncOnce()
                if report.sentBatches + report.appliedTransactions > 0 { isQuiet = false }
            }
            if isQuiet { break }
            try require(round < 20, "they never come to rest")
        }
        let rows = try await members[0].rows()
        let seen = try await members[0].look()
        for (folder, name) in zip(folders, names) {
            let committed = NumberFile(folder.appendingPathComponent("committed")).number
            check(seen[name, default: 0] >= committed, "\(name)")
        }
        for member in members.dropFirst() { try await check(member.rows(), equals: rows) }
        SuddenDeath.report(
            "sync over \(kind): \(kills) kills, \(seen.values.reduce(0, +)) events of 4 programs, "
                + "none is lost; \(proxy?.accepted ?? 0) connections, which a proxy cuts")
        for member in members { await member.pool.close() }
        try await place.empty()
    }

    /// Creates the group with the first member, and lets the others join it.
    private func found(_ folders: [URL], _ place: MirrorPlace) async throws {
        let store = try place.store()
        let founder = try EventMember(in: folders[0], store: store)
        try await founder.engine.createGroup(deviceName: "a")
        for folder in folders.dropFirst() {
            let member = try EventMember(in: folder, store: store)
            let invitation = try await founder.engine.invite(.once, role: .admin)
            try await member.engine.join(invitation, deviceName: "x", localRows: .discard)
            await member.pool.close()
        }
        await founder.pool.close()
    }
}
