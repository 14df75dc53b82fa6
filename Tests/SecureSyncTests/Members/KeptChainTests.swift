import Foundation
import SecureKeys
import TestSupport
import Testing

@testable import SecureSync

/// What a device's key store knows of the chain, which its file may have forgotten.
struct KeptChainTests {
    private let store = ChainStore()

    /// The device with the file and the store of now.
    private func resumed(_ device: GroupDevice, _ entries: [Data]) async throws -> SyncGroup {
        try SyncGroup(
            resuming: entries, as: await device.member, in: store, keyStore: device.keyStore)
    }

    @Test func `a file and a store that are put back together do not hide a removal`() async throws
    {
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.refresh()
        let (old, file) = (store.all, await phone.group.entries)
        try await phone.group.remove([.beginning(of: await laptop.member)])
        try await phone.group.refresh()

        store.all = old
        let count = UInt64(file.count)
        await #expect(
            throws: SyncError.storeHasForgotten(.chain, have: count + 1, found: count)
        ) { try await resumed(phone, file).refresh() }
        // The laptop, which the store shows another chain in the same place.
        try await laptop.group.rotate()
        await #expect(throws: SyncError.self) { try await resumed(phone, file).refresh() }
    }

    @Test func `a file that is put back alone reads on`() async throws {
        let phone = try await GroupDevice.founder(store)
        try await phone.group.refresh()
        let file = await phone.group.entries
        try await phone.group.rotate()
        try await phone.group.refresh()
        let resumed = try await resumed(phone, file)
        try await resumed.refresh()
        await check(resumed.state, equals: phone.group.state)
    }

    @Test func `devices that have read the same chain have one security code`() async throws {
        let phone = try await GroupDevice.founder(store)
        let laptop = try await phone.inviting("laptop", store)
        try await phone.group.refresh()
        let code = await phone.group.state.securityCode
        check(code.count, equals: 35)
        check(code.split(separator: " ").allSatisfy { $0.count == 5 && Int($0) != nil })
        await check(laptop.group.state.securityCode, equals: code)
        // A stranger's object changes nothing that people see.
        let next = SyncNames.chainEntry(group: phone.group.id, number: 4)
        store.set(next, Data("garbage".utf8))
        try await phone.group.refresh()
        await check(phone.group.state.securityCode, equals: code)
        try await laptop.group.rotate()
        await check(laptop.group.state.securityCode != code)
        try await phone.group.refresh()
        await check(phone.group.state.securityCode, equals: laptop.group.state.securityCode)
    }
}
