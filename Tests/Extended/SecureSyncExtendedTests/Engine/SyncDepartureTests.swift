import Foundation
@testable import ObjectStores
import SecureStorage
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// What counts once a member is gone, whatever it has replaced or hidden before, or has said when
/// it left.
struct SyncDepartureTests: InRevokedGroup {
    let group: RevokedGroup

    init() async throws { group = try await RevokedGroup(keepsObjects: true) }

    private func member(_ name: String) async throws -> SyncMember {
        let all = try await anna.engine.members() + anna.engine.formerMembers()
        return try require(all.first { $0.name == name })
    }

    private func checkEqual(
        _ devices: [SimulatedDevice], _ expected: [String], line: Int = #line
    ) async throws {
        try await settle(devices)
        for device in devices {
            try check(parents(device), equals: expected, "\(device.name), line \(line)")
            try await check(device.engine.verify().problems, equals: [])
        }
        let names = try await devices[0].engine.members().map(\.name)
        check(names.sorted(), equals: devices.map(\.name).sorted(), "line \(line)")
    }

    /// The name of the snapshot that a device has adopted.
    private func adoptedSnapshot(of device: SimulatedDevice) throws -> String? {
        try device.queue.read { db in
            let journal = SyncJournal(db)
            return try journal.place().flatMap { place in
                try journal.adopted().map {
                    SyncNames.snapshot(group: place.group, number: $0.number)
                }
            }
        }
    }

    private var chainLength: Int { objects.names.count { $0.dropFirst(32).hasPrefix("/m/") } }

    /// Else a snapshot that closes a log while such a member is in the group was refused as
    /// damaged: seed 9700250 of `SyncSimulator simulations`.
    @Test func `a member that has sent nothing has published nothing`() async throws {
        let newcomer = try require(MemberID(Data(repeating: 7, count: 16)))
        let published = try await anna.queue.write { db in
            let journal = SyncJournal(db)
            try journal.setPosition(.beginning(of: newcomer))
            return try journal.published()
        }
        check(published[newcomer] == nil && !published.isEmpty)
    }

    // MARK: - Replaced batches

    @Test(arguments: [1, 2])
    func `a member that applied another batch than the one that counts starts over`(_ count: Int)
        async throws
    {
        let keys = try await keys(of: ruth)
        let before = try last(of: keys).batch
        var (previous, shown, others) = (before.hash, [String: Data?](), [String]())
        for key in ["first", "second"].prefix(count) {
            try await write(key, by: ruth)
            try await ruth.engine.syncOnce()
            let genuine = try last(of: keys)
            shown[genuine.name] = .some(nil)
            if others.isEmpty {
                let other = try seal(
                    "other", keys, number: genuine.batch.header.number, after: previous)
                shown[genuine.name] = other.bytes
            }
            others.append(key)
            previous = genuine.batch.hash
        }
        try await anna.engine.syncOnce()
        cleo.store.show(shown)
        try await write("unaware", by: cleo)
        try await cleo.engine.syncOnce()
        try await write("by cleo", by: cleo)
        try await cleo.engine.syncOnce()
        try check(parents(cleo), equals: ["by cleo", "other", "unaware"])
        try await anna.engine.remove(member("ruth"))
        cleo.store.show([:])
        try await write("by anna", by: anna)
        try await checkEqual(
            [cleo, anna], (["by anna", "by cleo", "unaware"] + others).sorted())
    }

    @Test func `a snapshot of other batches than this file's is not adopted`() async throws {
        for key in ["first", "second"] {
            try await write(key, by: ruth)
            try await ruth.engine.syncOnce()
        }
        try await anna.engine.syncOnce()
        let keys = try await keys(of: ruth)
        let number = try last(of: keys).batch.header.number - 1
        let name = try await sendSnapshot {
            $0.declaration.positions[keys.member] = number
            $0.logs[keys.member]?.hash = Data(repeating: 1, count: 32)
        }
        let error = await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        check(error, equals: .damaged(name, "it has seen another batch than the store shows"))
    }

    @Test func `whoever removes its last batch from the store is removed`() async throws {
        try await write("first", by: ruth)
        try await settle([ruth, anna, cleo])
        objects.set(try await last(of: keys(of: ruth)).name, nil)
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        try await anna.engine.remove(member("ruth"))
        try await write("by anna", by: anna)
        try await settle([anna, cleo])
        for device in [anna, cleo] { try check(parents(device), equals: ["by anna", "first"]) }
    }

    // MARK: - Snapshots

    @Test func `a removal names no snapshot that its author has not checked`() async throws {
        try await write("first", by: anna)
        try await settle([anna, cleo, ruth])
        let newest = try require(objects.names.last { $0.dropFirst(32).hasPrefix("/s/") })
        _ = try await sendSnapshot {
            $0.declaration.stablePoint.time = UInt64(Date().timeIntervalSince1970 * 1000)
        }
        objects.set(newest, nil)
        try await anna.engine.remove(member("ruth"))
        try await settle([anna, cleo])
        let guest = try SimulatedDevice("dora", objects)
        try await guest.join(anna)
        try await checkEqual([anna, cleo, guest], ["first"])
    }

    @Test func `of two removals at once, both name a snapshot that counts`() async throws {
        let dora = try SimulatedDevice("dora", objects)
        try await dora.join(anna)
        try await settle([anna, cleo, dora])
        let (ruthRecord, doraRecord) = (try await member("ruth"), try await member("dora"))
        // Cleo removes Dora, after a snapshot that Anna has not read.
        let (cleo, done) = (Locked(self.cleo), Locked(false))
        let engine = self.cleo.engine
        for number in 0..<5 { try await write("by cleo \(number)", by: self.cleo) }
        anna.store.watchCreations(
            SimulatedStore.Watcher(before: { name in
                guard name.contains("/m/"),
                    !done.withLock({ done in
                        defer { done = true }
                        return done
                    })
                else { return }
                for number in 5..<12 {
                    let cleo = cleo.withLock { $0 }
                    try await cleo.write("INSERT INTO parent VALUES ('by cleo \(number)', 1, NULL)")
                    try await engine.syncOnce()
                }
                try await engine.remove(doraRecord)
            }))
        try await anna.engine.remove(ruthRecord)
        check(done.withLock { $0 })
        let guest = try SimulatedDevice("eve", objects)
        try await guest.join(anna)
        try await checkEqual(
            [anna, self.cleo, guest], (0..<12).map { "by cleo \($0)" }.sorted())
    }

    @Test func `a snapshot that a removal has made invalid is not began after`() async throws {
        for number in 0..<8 {
            try await write("\(number)", by: anna)
            try await anna.engine.syncOnce()
        }
        try await settle([anna, cleo])
        let name = try await sendSnapshot {
            $0.rows.parts = []
            $0.rows.name = Data(count: 16)
        }
        anna.store.show([name: nil])
        let guest = try SimulatedDevice("dora", objects)
        try await guest.engine.join(
            try await anna.engine.invite(.once, role: .admin), deviceName: "dora", localRows: .keep)
        guest.store.watchCreations(
            SimulatedStore.Watcher(before: { name in
                guard !name.contains("/s/") else {
                    throw StoreError.failed(code: "later", message: "", isTransient: true)
                }
            }))
        await #expect(throws: SyncError.self) { try await guest.engine.syncOnce() }
        check(objects.read(name) != nil)
        try check(!parents(guest).contains("0"))
        try await anna.engine.remove(member("ruth"))
        anna.store.show([:])
        guest.store.watchCreations(SimulatedStore.Watcher())
        try await checkEqual([anna, cleo, guest], (0..<8).map { "\($0)" })
    }

    @Test func `whoever writes after a snapshot of a removed member sends that again`()
        async throws
    {
        let keys = try await keys(of: ruth)
        let removal = try await removeRuth()
        cleo.store.show([removal: nil])
        let name = try await sendSnapshot(by: keys)
        try await cleo.engine.syncOnce()
        try check(adoptedSnapshot(of: cleo), equals: name)
        try await write("after its snapshot", by: cleo)
        try await cleo.engine.syncOnce()
        // Cleo makes one that follows it.
        for number in 0..<8 {
            try await write("by cleo \(number)", by: cleo)
            try await cleo.engine.syncOnce()
        }
        check(objects.names.contains { $0 > name && $0.dropFirst(32).hasPrefix("/s/") })
        cleo.store.show([:])
        try await write("by anna", by: anna)
        try await checkEqual(
            [cleo, anna],
            ["after its snapshot", "by anna"] + (0..<8).map { "by cleo \($0)" })
    }

    @Test func `a batch that knows another snapshot than this file's is sent again`() async throws {
        let name = try await sendSnapshot()
        let other = try require(objects.read(name))
        objects.set(name, nil)
        cleo.store.show([name: other])
        try await cleo.engine.syncOnce()
        try check(adoptedSnapshot(of: cleo), equals: name)
        try await write("unaware", by: cleo)
        try await cleo.engine.syncOnce()
        let hidden = try await last(of: keys(of: cleo)).name
        anna.store.show([hidden: nil])
        for number in 0..<20 {
            try await write("\(number + 10)", by: anna)
            try await anna.engine.syncOnce()
        }
        try check(require(adoptedSnapshot(of: anna)) > name)
        anna.store.show([:])
        let error = await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        check(
            error, equals: .damaged(hidden, "it has seen another snapshot than the store shows"))
        _ = try await removeRuth()
        cleo.store.show([:])
        try await checkEqual([cleo, anna], (0..<20).map { "\($0 + 10)" } + ["unaware"])
    }

    @Test func `the last snapshot of a member that leaves counts for all`() async throws {
        try await write("first", by: ruth)
        let name = try await sendSnapshot()
        try await settle([cleo, ruth])
        try await ruth.engine.leave()
        try await write("by cleo", by: cleo)
        try await cleo.engine.syncOnce()
        try check(adoptedSnapshot(of: cleo), equals: name)
        try await anna.engine.syncOnce()
        try check(adoptedSnapshot(of: anna), equals: name)
        for number in 0..<8 {
            try await write("by anna \(number)", by: anna)
            try await anna.engine.syncOnce()
        }
        try await checkEqual(
            [cleo, anna], (0..<8).map { "by anna \($0)" } + ["by cleo", "first"])
    }

    @Test func `whoever has to load a snapshot waits for the snapshot of the last removal`()
        async throws
    {
        let group = try await RevokedGroup()
        let (objects, anna, cleo) = (group.objects, group.anna, group.cleo)
        try await SimulatedDevice.writeSnapshots(anna)
        let before = objects.all
        try await SimulatedDevice.writeSnapshots(anna)
        let ruth = try await require(anna.engine.members().first { $0.name == "ruth" })
        try await anna.engine.remove(ruth)
        let named = try require(objects.names.last { $0.dropFirst(32).hasPrefix("/s/") })
        // The store shows Cleo what it was before, with the entry of the removal.
        let number = try require(UInt64(named.suffix(2), radix: 16))
        let later = objects.names.filter { before[$0] == nil && !$0.contains("/m/") }
        cleo.store.show(
            before.mapValues { $0 }.merging(later.map { ($0, Data?.none) }) { $1 })
        let error = await #expect(throws: SyncError.self) { try await cleo.engine.syncOnce() }
        check(error, equals: .withheld(.snapshots, number: number))
        cleo.store.show([:])
        for _ in 0..<3 { for device in [cleo, anna] { try await device.engine.syncOnce() } }
        try check(cleo.rows(), equals: anna.rows())
    }

    @Test func `a removal that a following group repeats keeps what its snapshots have`()
        async throws
    {
        let before = objects.all
        let record = try await require(cleo.engine.members().first { $0.name == "ruth" })
        try await cleo.engine.remove(record)
        // The store is put back, and Anna does not know.
        objects.putBack(before)
        try await anna.engine.reset()
        try await write("by ruth", by: ruth)
        try await settle([ruth, anna])
        for number in 0..<8 {
            try await write("by anna \(number)", by: anna)
            try await anna.engine.syncOnce()
        }
        try await checkEqual([cleo, anna], (0..<8).map { "by anna \($0)" } + ["by ruth"])
    }

    @Test func `a code that ends while its maker is away makes nobody start over`() async throws {
        let group = try await RevokedGroup()
        let (anna, cleo) = (group.anna, group.cleo)
        _ = try await anna.engine.invite(.once, expires: Date(timeIntervalSinceNow: 1))
        try await cleo.engine.syncOnce()
        // Anna's snapshot and the batches after it are gone when she comes back.
        try await SimulatedDevice.writeSnapshots(cleo)
        try await Task.sleep(for: .seconds(1))
        for _ in 0..<3 {
            for device in [anna, cleo] {
                try await check(device.engine.syncOnce().hasForked, equals: false)
            }
        }
        try check(cleo.rows(), equals: anna.rows())
        try await check(anna.engine.members().map(\.kind), equals: [.device, .device, .device])
    }

    @Test func `a gap in a removed member's snapshots stops nobody`() async throws {
        try await write("first", by: anna)
        try await settle([anna, cleo, ruth])
        let keys = try await keys(of: ruth)
        _ = try await removeRuth()
        let gap = try await sendSnapshot(by: keys)
        _ = try await sendSnapshot(by: keys)
        objects.set(gap, nil)
        try await write("by cleo", by: cleo)
        try await checkEqual([anna, cleo], ["by cleo", "first"])
        let guest = try SimulatedDevice("dora", objects)
        try await guest.join(cleo)
        try await checkEqual([anna, cleo, guest], ["by cleo", "first"])
    }

    // MARK: - The place where a log ends

    @Test func `a member that leaves without its last snapshot is removed again`() async throws {
        try await write("first", by: ruth)
        let name = try await sendSnapshot()
        anna.store.show([name: nil])
        try await settle([cleo, ruth])
        try check(adoptedSnapshot(of: cleo), equals: name)
        let position = try await ruth.queue.read { [id = AdversaryGroup.id(of: ruth)] in
            try SyncJournal($0).position(of: id)
        }
        try await append(.leave(position, snapshot: .none), by: ruth)
        try await write("by cleo", by: cleo)
        try await cleo.engine.syncOnce()
        anna.store.show([:])
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        check(try await member("ruth").isFormer)
        try await anna.engine.remove(member("ruth"))
        try await checkEqual([cleo, anna], ["by cleo", "first"])
    }

    @Test(arguments: 0..<4)
    func `a member that leaves where its log does not end is removed again`(_ kind: Int)
        async throws
    {
        try await write("first", by: ruth)
        try await settle([ruth, anna, cleo])
        try await SimulatedDevice.writeSnapshots(anna, cleo)
        try await settle([ruth, anna, cleo])
        let end = try await last(of: keys(of: ruth)).batch
        let id = try await AdversaryGroup.id(of: ruth)
        let number = end.header.number
        let position = [
            BatchPosition(member: id, number: 1 << 40, hash: Data(repeating: 1, count: 32)),
            BatchPosition(member: id, number: 0, hash: Data(count: 32)),
            BatchPosition(member: id, number: number, hash: Data(repeating: 1, count: 32)),
            BatchPosition(member: id, number: number, hash: end.hash),
        ][kind]
        let snapshot = SnapshotPin(number: 1 << 40, hash: Data(repeating: 2, count: 32))
        try await append(.leave(position, snapshot: kind == 3 ? snapshot : .none), by: ruth)
        let length = chainLength
        for device in [anna, cleo, anna] {
            if kind == 3 {
                try await device.engine.syncOnce()
            } else {
                await #expect(throws: SyncError.self) { try await device.engine.syncOnce() }
            }
        }
        // Nobody starts over for that.
        check(chainLength, equals: length)
        check(try await member("ruth").isFormer)
        try await anna.engine.remove(member("ruth"))
        try await write("by anna", by: anna)
        try await checkEqual([anna, cleo], ["by anna", "first"])
        let guest = try SimulatedDevice("dora", objects)
        try await guest.join(cleo)
        try await checkEqual([anna, cleo, guest], ["by anna", "first"])
    }

    @Test func `a removal that names a batch that follows none of the group's is made again`()
        async throws
    {
        let dora = try SimulatedDevice("dora", objects)
        try await dora.join(anna)
        try await write("by dora", by: dora)
        try await settle([dora, anna, cleo, ruth])
        try await SimulatedDevice.writeSnapshots(anna, cleo)
        try await settle([dora, anna, cleo, ruth])
        // Dora's next batch follows another one than the snapshots have, and Ruth names it.
        let keys = try await keys(of: dora)
        let end = try last(of: keys).batch
        let number = end.header.number + 1
        let other = try seal("other", keys, number: number, after: Data(repeating: 1, count: 32))
        check(
            objects.create(
                SyncNames.batch(group: keys.group, member: keys.member, number: number),
                other.bytes))
        let chain = objects.names.filter { $0.dropFirst(32).hasPrefix("/m/") }
        let hostile = try await SyncGroup(
            resuming: chain.compactMap { objects.read($0) }, as: AdversaryGroup.id(of: ruth),
            in: ruth.store, keyStore: ruth.keyStore)
        try await hostile.remove([
            BatchPosition(member: keys.member, number: number, hash: other.hash)
        ])
        let length = chainLength
        for device in [anna, cleo, anna] {
            await #expect(throws: SyncError.self) { try await device.engine.syncOnce() }
        }
        check(chainLength, equals: length)
        try await anna.engine.remove(member("dora"))
        try await anna.engine.remove(member("ruth"))
        try await checkEqual([anna, cleo], ["by dora"])
    }

    @Test func `a removal that comes while a member starts over counts for where it leaves`()
        async throws
    {
        let dora = try SimulatedDevice("dora", objects)
        try await dora.join(anna)
        try await settle([anna, cleo, ruth, dora])
        let doraRecord = try await member("dora")
        // Anna never sees what Dora writes here.
        try await write("by dora", by: dora)
        try await dora.engine.syncOnce()
        let name = try await last(of: keys(of: dora)).name
        anna.store.show([name: nil])
        try await cleo.engine.syncOnce()
        try await write("cleo 1", by: cleo)
        try await cleo.engine.syncOnce()
        try check(parents(cleo), equals: ["by dora", "cleo 1"])
        let ruthKeys = try await keys(of: ruth)
        let end = try last(of: ruthKeys).batch
        let removal = try await removeRuth()
        cleo.store.show([removal: nil])
        let late = try seal("late", ruthKeys, number: end.header.number + 1, after: end.hash)
        check(
            objects.create(
                SyncNames.batch(
                    group: ruthKeys.group, member: ruthKeys.member, number: end.header.number + 1),
                late.bytes))
        try await cleo.engine.syncOnce()
        try await write("cleo 2", by: cleo)
        try await cleo.engine.syncOnce()
        try check(parents(cleo), equals: ["by dora", "cleo 1", "cleo 2", "late"])
        cleo.store.show([:])
        let (engine, entries) = (anna.engine, Locked(0))
        cleo.store.watchCreations(
            SimulatedStore.Watcher(before: { name in
                guard name.contains("/m/") else { return }
                let count = entries.withLock { entries in
                    entries += 1
                    return entries
                }
                // The second entry is the one with which Cleo leaves.
                if count == 2 { try await engine.remove(doraRecord) }
            }))
        try await cleo.engine.syncOnce()
        check(entries.withLock { $0 } >= 2)
        anna.store.show([:])
        try await checkEqual([cleo, anna], ["cleo 1", "cleo 2"])
    }
}
