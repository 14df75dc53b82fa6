internal import Crypto
package import Foundation
internal import ObjectStores
package import SecureKeys

/// A group in a store, read and changed by one of its members.
package actor SyncGroup {
    package nonisolated let id: Data
    let store: any ObjectStore
    let keyStore: any KeyStore
    /// This member.
    package internal(set) var member: MemberID
    var memberKeys: MemberKeys {
        // Keys opened with them have to be opened again.
        didSet { keysChain = Data() }
    }
    package internal(set) var state: MembershipState
    /// The entries read from the chain, from the first.
    package internal(set) var entries: [Data]
    var epochKeys: [UInt64: EpochKey] = [:]
    /// The hash of the chain at which they were opened.
    var keysChain = Data()
    /// The tree's secret that was opened last.
    var openedTreeSecret: GroupSecret?
    /// The last entry that this device's key store knows.
    private var keptPosition: ChainPosition?
    /// The listed objects of an entry's size under the names of successors.
    var candidates: [String] = []
    /// The invalid objects, while the chain has this number of objects.
    private var known: (count: UInt64, invalid: InvalidObjects) = (0, InvalidObjects())

    init(
        _ id: Data, _ keys: MemberKeys, in store: any ObjectStore, keyStore: any KeyStore,
        chain: (state: MembershipState, entries: [Data]) = (MembershipState(), [])
    ) {
        self.id = id
        self.store = store
        self.keyStore = keyStore
        member = keys.id
        memberKeys = keys
        (state, entries) = chain
    }

    /// The group whose chain is saved in a file.
    ///
    /// - Throws: `KeyStoreError` if this device does not have the member's keys; ``SyncError``.
    package init(
        resuming entries: [Data], as member: MemberID, in store: any ObjectStore,
        keyStore: any KeyStore
    ) throws {
        guard let first = entries.first else { throw SyncError.notAMember }
        let group = try Self.group(of: first)
        var (state, taken) = (MembershipState(), [Data]())
        for bytes in entries { try Self.take(bytes, group, &state, &taken) }
        self.init(
            group, try MemberKeys(named: MemberKeys.name(group, member), in: keyStore), in: store,
            keyStore: keyStore, chain: (state, taken))
    }

    private static func group(of first: Data) throws -> Data {
        do {
            return try ChainEntry(reading: first).group
        } catch let error as CBORError {
            throw SyncError.damaged("m", error.reason)
        } catch is NewerFormat {
            throw SyncError.newerFormat("m")
        }
    }

    /// Whether this member belongs to the group, according to the chain as read.
    var isActive: Bool { state.isActive(member) }

    // MARK: - Reading

    /// Reads new chain entries.
    ///
    /// - Throws: ``SyncError/storeHasForgotten(_:have:found:)`` if the store shows less of it
    ///   than before, `.damaged` for an entry that breaks a rule.
    package func refresh() async throws {
        // Before the store is listed: another engine may read further meanwhile.
        let kept = try keptPosition ?? readKeptPosition()
        try await readAll()
        try require(kept)
        try keepPosition()
        try adoptRenewedKeys()
    }

    /// How far this device has read the chain, according to its key store: a restored file does not
    /// know, and its store may be restored with it.
    private func readKeptPosition() throws -> ChainPosition? {
        do {
            return ChainPosition(keyStoreValue: try keyStore.read(keptName))
        } catch KeyStoreError.notFound {
            return nil
        }
    }

    /// Per group, so that this device does not accept less as another member either.
    private var keptName: String { "securestorage-chain-\(id.base64EncodedString())" }

    private func require(_ kept: ChainPosition?) throws {
        guard let kept, kept.number > 0 else { return }
        guard let hash = state.hash(at: kept.number) else {
            throw SyncError.storeHasForgotten(.chain, have: kept.number, found: state.count)
        }
        guard hash == kept.hash else {
            throw SyncError.damaged(
                SyncNames.chainEntry(group: id, number: kept.number),
                "it is another chain of members than this device has read before")
        }
    }

    private func keepPosition() throws {
        // The keys of a code are in no key store.
        guard state.member(memberKeys.id)?.kind == .device else { return }
        let position = state.position
        guard position.number > keptPosition?.number ?? 0 else { return }
        try keyStore.store(position.keyStoreValue, forName: keptName)
        keptPosition = position
    }

    private func readAll() async throws {
        let listed = try await list()
        if state.count - state.lastEntry <= Self.fewInvalid {
            try await readInvalidAgain(listed.objects)
        }
        do {
            try await readOn(listed)
        } catch let error as SyncError where !error.isTransient {
            guard try await readInvalidAgain(listed.objects) else { throw error }
            try await readOn(try await list())
        }
    }

    /// The sizes of the objects from the last entry on, by number, and how many were known when
    /// listing: another call may read further meanwhile.
    private func list() async throws -> (known: UInt64, objects: [UInt64: Int]) {
        let prefix = SyncNames.chain(group: id)
        let (known, last) = (state.count, state.lastEntry)
        let objects = try await store.listAll(
            prefix, after: last < 2 ? nil : SyncNames.chainEntry(group: id, number: last - 1))
        noteCandidates(objects)
        let numbered = objects.compactMap { object in
            SyncNames.number(of: object.name, after: prefix).map { ($0, object.size) }
        }
        return (known, Dictionary(numbered, uniquingKeysWith: { $1 }))
    }

    /// The kept form of an object of the chain; nil if there is none.
    private func readObject(_ number: UInt64, size: Int?) async throws -> Data? {
        if let size, size > ChainEntry.longest { return MembershipState.tooLarge }
        return try await store.read(SyncNames.chainEntry(group: id, number: number))
            .map(MembershipState.kept)
    }

    /// How many invalid places at the end are checked again each time: strangers can create any
    /// number of them.
    private static let fewInvalid: UInt64 = 8

    /// Forgets invalid places at the end if the store now shows other objects there: it may have
    /// shown a damaged entry, and no member's entry confirms that the place is invalid.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    private func readInvalidAgain(_ listed: [UInt64: Int]) async throws -> Bool {
        let (known, number) = (entries, state.lastEntry)
        guard number > 0 else { return false }
        for index in Int(number)..<known.count {
            let number = UInt64(index + 1)
            let bytes = try await readObject(number, size: listed[number])
            if let bytes, bytes == known[index] || MembershipState.hash(of: bytes) == known[index] {
                continue
            }
            // Another call may have read further.
            guard entries == known else { return true }
            var (state, taken) = (MembershipState(), [Data]())
            for bytes in known[..<index] { try Self.take(bytes, id, &state, &taken) }
            (self.state, entries) = (state, taken)
            return true
        }
        return false
    }

    private func readOn(_ listed: (known: UInt64, objects: [UInt64: Int])) async throws {
        let (known, listed) = (min(listed.known, state.count), listed.objects)
        guard known == 0 || listed[known] != nil else {
            let all = try await store.listNumbers(SyncNames.chain(group: id))
            throw SyncError.storeHasForgotten(
                .chain, have: known, found: all.last { $0 < known } ?? 0)
        }
        // Entries are never removed, and each is created after the one before: a list may miss one
        // created while listing, but reading must find it.
        let newest = listed.keys.max() ?? 0
        while state.count < newest {
            let first = state.count + 1
            let objects = try await readObjects(first...newest, sizes: listed)
            // Another call may have applied some during the reading.
            for (number, bytes) in zip(first..., objects) where number == state.count + 1 {
                guard let bytes else {
                    throw SyncError.storeHasForgotten(.chain, have: newest, found: number - 1)
                }
                try Self.take(bytes, id, &state, &entries)
            }
        }
    }

    /// Reads the next of these objects in parallel: one by one, a thousand take a minute from a
    /// distant store.
    private func readObjects(
        _ numbers: ClosedRange<UInt64>, sizes: [UInt64: Int]
    ) async throws -> [Data?] {
        var (next, size) = ([UInt64](), 0)
        for number in numbers.prefix(32) {
            size += sizes[number] ?? 0
            // Strangers' objects must not take much memory.
            if !next.isEmpty, size > ChainEntry.longest { break }
            next.append(number)
        }
        return try await withThrowingTaskGroup(of: (Int, Data?).self) { tasks in
            for (index, number) in next.enumerated() {
                tasks.addTask {
                    (index, try await self.readObject(number, size: sizes[number]))
                }
            }
            var objects = [Data?](repeating: nil, count: next.count)
            for try await (index, bytes) in tasks { objects[index] = bytes }
            return objects
        }
    }

    static func take(
        _ bytes: Data, _ id: Data, _ state: inout MembershipState, _ entries: inout [Data]
    ) throws {
        let name = SyncNames.chainEntry(group: id, number: state.count + 1)
        do {
            try state.follow(bytes)
            let isInvalid = state.invalid.last == state.count
            entries.append(isInvalid ? MembershipState.shortened(bytes) : bytes)
        } catch let error as CBORError {
            throw SyncError.damaged(name, error.reason)
        } catch let refusal as MembershipState.Refusal {
            throw SyncError.damaged(name, refusal.reason)
        } catch is NewerFormat {
            throw SyncError.newerFormat(name)
        }
        guard state.group == id else { throw SyncError.damaged(name, "it is of another group") }
    }

    /// The invalid objects found with the current chain.
    var invalid: InvalidObjects {
        if known.count != state.count { known = (state.count, InvalidObjects()) }
        return known.invalid
    }

    // MARK: - Keys

    /// The current keys for writing and reading batches.
    ///
    /// - Throws: ``SyncError/notAMember`` if this member was removed.
    package func keys() throws -> GroupKeys {
        guard state.isActive(member) else { throw SyncError.notAMember }
        var keys: [UInt64: DataEncryptionKey] = [:]
        for number in 1...max(1, state.epoch) {
            if let key = try epochKey(number) { keys[number] = key.key }
        }
        var failure: SyncError?
        do { _ = try currentKey() } catch let error as SyncError { failure = error }
        return GroupKeys(
            group: id, own: memberKeys, state: state, keys: keys, failure: failure, invalid: invalid
        )
    }

    /// The name of a member's device.
    package func name(of member: MemberID) throws -> String {
        guard let record = state.member(member) else { return "" }
        return try epochKey(record.nameEpoch)?.name(record.sealedName, of: member) ?? ""
    }

    /// The readable names of all present and former members.
    func names() -> [MemberID: String] {
        Dictionary(
            state.everyone.map { ($0.id, (try? name(of: $0.id)) ?? "") }, uniquingKeysWith: { $1 })
    }
}
