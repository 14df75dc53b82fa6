import Crypto
import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncWorlds

/// A device that was removed, and that can still create, replace and delete objects of the store.
struct SyncRevocationTests {
    private let objects = WorldObjects()
    private let anna: WorldDevice
    private let cleo: WorldDevice
    private let ruth: WorldDevice

    init() async throws {
        let devices = try await WorldDevice.group(["anna", "cleo", "ruth"], in: objects)
        (anna, cleo, ruth) = (devices[0], devices[1], devices[2])
        try await settle(devices)
    }

    private func settle(_ devices: [WorldDevice]) async throws {
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
    }

    private func write(_ key: String, by device: WorldDevice) async throws {
        try await device.write("INSERT INTO parent VALUES ('\(key)', '\(device.name)', NULL)")
    }

    private func parents(_ device: WorldDevice) throws -> [String?] {
        try device.queue.read { try $0.strings("SELECT id FROM parent ORDER BY id") }
    }

    /// The group as a device knows it now.
    private func keys(of device: WorldDevice) async throws -> GroupKeys {
        let chain = objects.names.filter { $0.dropFirst(32).hasPrefix("/m/") }
        return try await SyncGroup(
            resuming: chain.compactMap { objects.read($0) },
            as: AdversaryGroup.id(of: device), in: device.store, keyStore: device.keyStore
        ).keys()
    }

    /// Removes Ruth.
    ///
    /// - Returns: The name of the entry.
    private func removeRuth() async throws -> String {
        let member = try require(await anna.engine.members().first { $0.name == "ruth" })
        try await anna.engine.remove(member)
        return try require(objects.history.last { $0.dropFirst(32).hasPrefix("/m/") })
    }

    /// Seals a batch of Ruth's.
    private func seal(
        _ key: String, _ keys: GroupKeys, number: UInt64, after previous: Data,
        heads: [LogHead] = []
    ) throws -> SealedBatch {
        let time: UInt64 = 1_790_000_000_000
        let stamp = Stamp(time: Stamp.time(milliseconds: time), member: keys.member)
        let row = RowChange(
            table: "parent", key: [.text(key)], life: .init(stamp: stamp, isAlive: true),
            registers: [
                .init(columns: ["name"], values: [.text("ruth")], stamp: stamp),
                .init(columns: ["code"], values: [.null], stamp: stamp),
            ])
        return try SealedBatch.seal(
            BatchBody(time: time, schema: 0, heads: heads, changes: [row], isLast: true),
            BatchHeader(
                group: keys.group, member: keys.member, number: number,
                epoch: keys.currentEpoch, previous: previous, chain: keys.position),
            key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
    }

    private func last(of keys: GroupKeys) throws -> (name: String, batch: SealedBatch) {
        let log = SyncNames.log(group: keys.group, member: keys.member)
        let name = try require(objects.names.last { $0.hasPrefix(log) })
        return (name, try SealedBatch(reading: try require(objects.read(name))))
    }

    // MARK: - Batches

    @Test func `what it writes while its removal is overwritten counts for nobody in the end`()
        async throws
    {
        let removal = try await removeRuth()
        let genuine = try require(objects.read(removal))
        objects.set(removal, Data(count: 100))
        try await write("late", by: ruth)
        try await ruth.engine.syncOnce()
        try await write("by cleo", by: cleo)
        try await cleo.engine.syncOnce()
        // It could not know.
        try check(parents(cleo), equals: ["by cleo", "late"])
        objects.set(removal, genuine)
        try await settle([cleo, anna])
        try await write("by anna", by: anna)
        try await settle([anna, cleo])
        for device in [anna, cleo] {
            try check(parents(device), equals: ["by anna", "by cleo"])
            try await check(device.engine.verify().isSound)
        }
        let members = try await anna.engine.members()
        check(members.map(\.name).sorted(), equals: ["anna", "cleo"])
    }

    @Test func `a removal that one device is not shown makes nothing of the late batches count`()
        async throws
    {
        let removal = try await removeRuth()
        cleo.store.show([removal: nil])
        ruth.store.show([removal: nil])
        try await write("late", by: ruth)
        try await ruth.engine.syncOnce()
        try await write("by cleo", by: cleo)
        try await cleo.engine.syncOnce()
        try check(parents(cleo), equals: ["by cleo", "late"])
        try await write("by anna", by: anna)
        try await anna.engine.syncOnce()
        try check(parents(anna), equals: ["by anna", "by cleo"])
        // What Anna writes now shows it that the store hides a part of the chain.
        let error = await #expect(throws: SyncError.self) { try await cleo.engine.syncOnce() }
        check(error, equals: .withheld(.chain, number: 8))
        cleo.store.show([:])
        try await settle([cleo, anna])
        for device in [anna, cleo] { try check(parents(device), equals: ["by anna", "by cleo"]) }
    }

    @Test func `batches that it puts in the place of those that counted count for nobody`()
        async throws
    {
        let keys = try await keys(of: ruth)
        let before = try last(of: keys)
        try await write("first", by: ruth)
        try await ruth.engine.syncOnce()
        let genuine = try last(of: keys)
        try await anna.engine.syncOnce()
        _ = try await removeRuth()
        let other = try seal(
            "other", keys, number: genuine.batch.header.number, after: before.batch.hash)
        objects.set(genuine.name, other.bytes)
        let error = await #expect(throws: SyncError.self) { try await cleo.engine.syncOnce() }
        guard case .damaged(genuine.name, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try check(parents(cleo), equals: [])
        objects.set(genuine.name, genuine.batch.bytes)
        try await settle([cleo, anna])
        try check(parents(cleo), equals: ["first"])
    }

    @Test(arguments: [false, true])
    func `a batch that makes others wait for what never was does not keep it in the group`(
        _ isAboutAnna: Bool
    ) async throws {
        let keys = try await keys(of: ruth)
        let before = try last(of: keys)
        let victim = try await self.keys(of: isAboutAnna ? anna : cleo).member
        let poison = try seal(
            "poison", keys, number: before.batch.header.number + 1, after: before.batch.hash,
            heads: [LogHead(member: victim, number: 1 << 40, hash: Data(count: 16))])
        let name = SyncNames.batch(
            group: keys.group, member: keys.member, number: poison.header.number)
        check(objects.create(name, poison.bytes))
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        _ = try await removeRuth()
        try await write("by anna", by: anna)
        try await write("by cleo", by: cleo)
        try await settle([anna, cleo])
        for device in [anna, cleo] { try check(parents(device), equals: ["by anna", "by cleo"]) }
        let guest = try WorldDevice("dora", objects)
        try await guest.join(anna)
        try check(parents(guest), equals: ["by anna", "by cleo"])
    }

    @Test func `a batch that nobody can read keeps nobody from leaving or joining`() async throws {
        let keys = try await keys(of: ruth)
        let before = try last(of: keys)
        let header = BatchHeader(
            group: keys.group, member: keys.member, number: before.batch.header.number + 1,
            epoch: keys.currentEpoch, previous: before.batch.hash, chain: keys.position)
        let object = try SealedObject.seal(
            [1, 2, 3], header, key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
        let name = SyncNames.batch(
            group: keys.group, member: keys.member, number: header.number)
        check(objects.create(name, object.bytes))
        let guest = try WorldDevice("dora", objects)
        try await write("by anna", by: anna)
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        try await guest.engine.join(
            try await anna.engine.invite(.once, role: .admin), deviceName: "dora", localRows: .keep)
        await #expect(throws: SyncError.self) { try await guest.engine.syncOnce() }
        try check(parents(guest), equals: ["by anna"])
        try await cleo.engine.leave()
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        try await check(
            anna.engine.members().map(\.name).sorted(), equals: ["anna", "dora", "ruth"])
    }

    // MARK: - Keys

    /// Creates the next entry of the chain.
    private func append(_ action: ChainEntry.Action, by device: WorldDevice) async throws {
        let id = try await AdversaryGroup.id(of: device)
        let chain = objects.names.filter { $0.dropFirst(32).hasPrefix("/m/") }
        var state = MembershipState()
        for name in chain { try state.follow(try require(objects.read(name))) }
        let entry = ChainEntry(
            group: state.group, number: state.count + 1, previous: state.last, author: id, time: 1,
            action: action)
        let keys = try MemberKeys(
            named: MemberKeys.name(state.group, id), in: device.keyStore)
        check(
            objects.create(
                SyncNames.chainEntry(group: state.group, number: entry.number),
                try entry.signed(by: keys)))
    }

    /// A key for all, which only one of them can open.
    private func keyOnly(
        for device: WorldDevice, _ isCommitted: Bool
    ) async throws -> ChainEntry.EpochKeys {
        let keys = try await self.keys(of: device)
        var state = MembershipState()
        for name in objects.names.filter({ $0.dropFirst(32).hasPrefix("/m/") }) {
            try state.follow(try require(objects.read(name)))
        }
        let epoch = try EpochKey.random(state.epoch + 1)
        let other = try EpochKey.random(state.epoch + 1)
        var wrapped: [MemberID: Data] = [:]
        for member in state.active {
            let isOwn = member.id == keys.member
            // Either bytes that are no key, or a key that is not the one of the others.
            wrapped[member.id] =
                isOwn
                ? try epoch.wrapped(for: member.id, member.keys, group: state.group)
                : isCommitted
                    ? try other.wrapped(for: member.id, member.keys, group: state.group)
                    : Data(count: 81)
        }
        return ChainEntry.EpochKeys(
            number: epoch.number, commitment: epoch.commitment(group: state.group),
            wrapped: wrapped, previousNumber: epoch.number - 1, previous: Data(count: 80))
    }

    @Test(arguments: [false, true])
    func `an admin that gives the others no key, or a wrong one, is removed, and nothing is lost`(
        _ isCommitted: Bool
    ) async throws {
        try await write("before", by: cleo)
        try await settle([cleo, anna])
        try await append(.rotate(try await keyOnly(for: ruth, isCommitted)), by: ruth)
        try await write("by anna", by: anna)
        for device in [anna, cleo] {
            let error = await #expect(throws: SyncError.self) {
                try await write("by \(device.name) later", by: device)
                try await device.engine.syncOnce()
            }
            check(error, equals: .keyWithheld(by: "ruth"))
            // Nor after a restart.
            try device.killAndReopen()
            await #expect(throws: SyncError.keyWithheld(by: "ruth")) {
                try await device.engine.syncOnce()
            }
        }
        _ = try await removeRuth()
        try await settle([anna, cleo])
        for device in [anna, cleo] {
            try check(
                parents(device),
                equals: ["before", "by anna", "by anna later", "by cleo later"])
        }
    }

    @Test func `a writer changes no keys`() async throws {
        let guest = try WorldDevice("guest", objects)
        try await guest.engine.join(
            try await anna.engine.invite(.once), deviceName: "guest", localRows: .keep)
        try await settle([guest, anna])
        let member = try require(await anna.engine.members().first { $0.name == "guest" })
        check(member.role, equals: .writer)
        for work in [
            { try await guest.engine.rotateKey() }, { try await guest.engine.reset() },
            { _ = try await guest.engine.invite(.once) },
            { _ = try await guest.engine.remove(member) },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: SyncError.self) { try await work() }
            guard case .notAllowed = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        try await append(.rotate(try await keyOnly(for: guest, false)), by: guest)
        try await write("by anna", by: anna)
        try await settle([anna, guest])
        try check(parents(guest), equals: ["by anna"])
    }

    // MARK: - Forks

    @Test func `what a device has forked goes with it, unless it is kept`() async throws {
        let copy = try WorldDevice(copyOf: ruth, "copy")
        try await write("by ruth", by: ruth)
        try await ruth.engine.syncOnce()
        try await write("by copy", by: copy)
        try await copy.engine.syncOnce()
        try await anna.engine.syncOnce()
        let members = try await anna.engine.members()
        let member = try require(members.first { $0.name == "ruth" && $0.forkOf == nil })
        let fork = try require(members.first { $0.forkOf == member.id })
        check(fork.addedBy, equals: member.id)
        check(fork.addedAt > member.addedAt)
        let gone = try await anna.engine.remove(member)
        check(gone.map(\.id), equals: [member.id, fork.id])
        for device in [ruth, copy] {
            await #expect(throws: SyncError.notAMember) { try await device.engine.syncOnce() }
        }
        try await settle([anna, cleo])
        try check(parents(cleo), equals: ["by copy", "by ruth"])
    }

    @Test func `a copy that is kept goes on when the device goes`() async throws {
        let copy = try WorldDevice(copyOf: ruth, "copy")
        try await write("by ruth", by: ruth)
        try await ruth.engine.syncOnce()
        try await write("by copy", by: copy)
        try await copy.engine.syncOnce()
        try await anna.engine.syncOnce()
        let members = try await anna.engine.members()
        let member = try require(members.first { $0.name == "ruth" && $0.forkOf == nil })
        let fork = try require(members.first { $0.forkOf == member.id })
        try await check(
            anna.engine.remove(member, keeping: [fork]).map(\.id), equals: [member.id])
        await #expect(throws: SyncError.notAMember) { try await ruth.engine.syncOnce() }
        try await settle([anna, copy])
        // The device that is removed by its own copy.
        try await check(copy.engine.members().count, equals: 3)
    }

    @Test func `an invitation that has expired is removed, and its keys open nothing more`()
        async throws
    {
        let late = try await anna.engine.invite(.once, expires: Date() + 0.05)
        let open = try await anna.engine.invite(.once, role: .admin, expires: Date() + 100)
        try await Task.sleep(for: .milliseconds(60))
        let guest = try WorldDevice("guest", objects)
        await #expect(throws: SyncError.self) {
            try await guest.engine.join(late, deviceName: "guest", localRows: .keep)
        }
        try await settle([cleo, anna])
        let members = try await anna.engine.members().filter { $0.kind == .invitation }
        check(members.count, equals: 1)
        check(members.first?.role, equals: .admin)
        check(members.first?.expires != nil)
        try await guest.engine.join(open, deviceName: "guest", localRows: .keep)
        try await guest.engine.syncOnce()
    }

    // MARK: - Snapshots

    /// A snapshot without rows, in which the group has no other member.
    private func forgedSnapshot(
        _ number: UInt64, _ keys: GroupKeys, after previous: Data
    ) throws -> Data {
        var declaration = Declaration.first(of: keys.member)
        declaration.number = number
        let manifest = SnapshotManifest(
            time: 1, schema: 0, declaration: declaration,
            logs: [
                keys.member: .init(hash: Data(count: 32), heard: 0, promises: [], published: [:])
            ],
            rows: .init(name: Data(count: 16), epoch: 1, parts: []))
        return try SealedObject.seal(
            manifest.encoded(),
            BatchHeader(
                .snapshot, group: keys.group, member: keys.member, number: number,
                epoch: keys.currentEpoch, previous: previous, chain: keys.position),
            key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign
        ).bytes
    }

    @Test func `a snapshot that it puts in the place of the newest one is loaded by nobody`()
        async throws
    {
        let keys = try await keys(of: ruth)
        try await write("first", by: anna)
        try await settle([anna, cleo])
        _ = try await removeRuth()
        let name = try require(objects.names.last { $0.dropFirst(32).hasPrefix("/s/") })
        let genuine = try require(objects.read(name))
        let header = try BatchHeader(reading: genuine, .snapshot)
        objects.set(name, try forgedSnapshot(header.number, keys, after: header.previous))
        let guest = try WorldDevice("dora", objects)
        try await guest.engine.join(
            try await anna.engine.invite(.once, role: .admin), deviceName: "dora", localRows: .keep)
        await #expect(throws: SyncError.self) { try await guest.engine.syncOnce() }
        try await settle([anna, cleo])
        for device in [anna, cleo] { try check(parents(device), equals: ["first"]) }
        objects.set(name, genuine)
        try await settle([guest, anna, cleo])
        for device in [guest, anna, cleo] { try check(parents(device), equals: ["first"]) }
    }

    @Test func `a snapshot that it makes after its removal is adopted by nobody`() async throws {
        let keys = try await keys(of: ruth)
        _ = try await removeRuth()
        let name = try require(objects.names.last { $0.dropFirst(32).hasPrefix("/s/") })
        let newest = try require(objects.read(name))
        let header = try BatchHeader(reading: newest, .snapshot)
        let next = SyncNames.snapshot(group: keys.group, number: header.number + 1)
        check(
            objects.create(
                next,
                try forgedSnapshot(
                    header.number + 1, keys, after: Data(SHA256.hash(data: newest)))))
        try await write("by anna", by: anna)
        try await settle([anna, cleo])
        let guest = try WorldDevice("dora", objects)
        try await guest.join(cleo)
        for device in [anna, cleo, guest] { try check(parents(device), equals: ["by anna"]) }
    }
}
