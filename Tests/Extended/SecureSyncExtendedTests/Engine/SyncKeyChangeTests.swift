import Crypto
import Foundation
import SecureStorage
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// Which members change the keys, whom they are for, and what is removed with a member.
struct SyncKeyChangeTests: InRevokedGroup {
    let group: RevokedGroup

    init() async throws { group = try await RevokedGroup() }

    /// A key for all, which only one of them can open.
    private func keyOnly(
        for device: SimulatedDevice, _ isCommitted: Bool
    ) async throws -> ChainEntry.EpochKeys {
        let keys = try await self.keys(of: device)
        var state = MembershipState()
        for name in objects.names.filter({ $0.dropFirst(32).hasPrefix("/m/") }) {
            try state.follow(try require(objects.read(name)))
        }
        let (author, number) = (try require(state.member(keys.member)).keys, state.epoch + 1)
        let members = Dictionary(state.active.map { ($0.id, $0.keys) }, uniquingKeysWith: { $1 })
        func made(_ secret: GroupSecret) throws -> ChainEntry.EpochKeys {
            try KeyMaking(
                group: state.group, epoch: .random(number), secret: secret, isNewSecret: true,
                tree: state.tree, author: author, members: members
            ).keys(after: .random(number - 1))
        }
        var epoch = try made(.random(.tree, number))
        let other = try made(.random(.tree, number))
        // Either bytes that are not a key, or a key that is not the one of the others.
        func wrong(_ bytes: Data?) -> Data {
            guard !isCommitted, let bytes, let first = bytes.first else { return bytes ?? Data() }
            return Data([first]) + Data(count: bytes.count - 1)
        }
        for member in state.active.map(\.id) where member != keys.member {
            epoch.secret?.wrapped[member] = wrong(other.secret?.wrapped[member])
        }
        epoch.nodes = zip(epoch.nodes, other.nodes).map { epoch, other in
            .init(epoch.node, commitment: epoch.commitment, wrapped: other.wrapped.map(wrong))
        }
        return epoch
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
        let guest = try SimulatedDevice("guest", objects)
        try await guest.engine.join(
            try await anna.engine.invite(.once), deviceName: "guest", localRows: .keep)
        try await settle([guest, anna])
        let member = try require(await anna.engine.members().first { $0.name == "guest" })
        check(member.role, equals: .writer)
        for work in [
            { try await guest.engine.reset() },
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

    /// A copy of Ruth's file that continued as a separate member, and both members.
    private func copyOfRuth() async throws -> (
        SimulatedDevice, member: SyncMember, fork: SyncMember
    ) {
        let copy = try SimulatedDevice(copyOf: ruth, "copy")
        try await write("by ruth", by: ruth)
        try await ruth.engine.syncOnce()
        try await write("by copy", by: copy)
        try await copy.engine.syncOnce()
        try await anna.engine.syncOnce()
        let members = try await anna.engine.members()
        let member = try require(members.first { $0.name == "ruth" && $0.forkOf == nil })
        let fork = try require(members.first { $0.forkOf == member.id })
        return (copy, member, fork)
    }

    @Test func `what a device has forked goes with it, unless it is kept`() async throws {
        let (copy, member, fork) = try await copyOfRuth()
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

    @Test func `what a device forks while it is removed goes with it`() async throws {
        let copy = try SimulatedDevice(copyOf: ruth, "copy")
        try await write("by ruth", by: ruth)
        try await settle([ruth, anna])
        let member = try await require(anna.engine.members().first { $0.name == "ruth" })
        try await copy.write("INSERT INTO parent VALUES ('fork', 'by the fork', NULL)")
        let (engine, hasForked) = (copy.engine, Locked(false))
        anna.store.watchCreations(
            SimulatedStore.Watcher(before: { name in
                let isFirst = hasForked.withLock { done in
                    defer { done = done || name.contains("/m/") }
                    return !done && name.contains("/m/")
                }
                if isFirst { check(try await engine.syncOnce().hasForked) }
            }))
        let gone = try await anna.engine.remove(member)
        check(hasForked.withLock { $0 })
        check(gone.count >= 1)
        await #expect(throws: SyncError.notAMember) { try await copy.engine.syncOnce() }
        try await settle([anna, cleo])
        try await check(anna.engine.members().contains { $0.name == "ruth" }, equals: false)
        try check(!parents(cleo).contains("by the fork"))
    }

    @Test func `a copy that is kept continues when the device goes`() async throws {
        let (copy, member, fork) = try await copyOfRuth()
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
        let guest = try SimulatedDevice("guest", objects)
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
}
