internal import Foundation
internal import ObjectStores

extension BatchPosition {
    /// This position, or the later one in a snapshot from which the group continues.
    func reaching(_ manifest: SnapshotManifest?) -> BatchPosition {
        guard let manifest, let log = manifest.logs[member] else { return self }
        let last = manifest.declaration.positions[member, default: 0]
        return last > number ? BatchPosition(member: member, number: last, hash: log.hash) : self
    }
}

/// The group's snapshots in the store, as read by one member.
///
/// A manifest without an authorized signer is invalid: it takes a number and changes nothing, as
/// with the chain. Damage caused by a store is detectable, since each manifest contains the hash of
/// the previous one.
struct SnapshotStore: Sendable {
    let store: any ObjectStore
    let keys: GroupKeys

    /// The numbers of the manifests after `number`, in their order.
    func numbers(after number: UInt64) async throws -> [UInt64] {
        let prefix = SyncNames.snapshots(group: keys.group)
        let objects = try await store.listAll(
            prefix,
            after: number == 0 ? nil : SyncNames.snapshot(group: keys.group, number: number))
        for object in objects where object.size > SealedObject.longest {
            keys.invalid.insert(object.name, size: object.size)
        }
        return objects.compactMap { SyncNames.number(of: $0.name, after: prefix) }
            .filter { $0 > number }
    }

    /// Returns nil if the manifest is invalid or missing.
    func read(_ number: UInt64) async throws -> (snapshot: AdoptedSnapshot, previous: Data)? {
        let name = SyncNames.snapshot(group: keys.group, number: number)
        guard !keys.invalid.contains(name), let bytes = try await store.read(name) else {
            return nil
        }
        let envelope = try? SealedEnvelope(reading: bytes, .snapshot)
        guard let envelope, envelope.group == keys.group, envelope.number == number,
            try keys.mayDeclare(envelope.member, number),
            envelope.isSigned({ keys.isValid($0, for: $1, by: envelope.member) })
        else {
            keys.invalid.insert(name, size: bytes.count)
            return nil
        }
        let object: SealedObject
        do {
            object = try SealedObject(reading: bytes, .snapshot)
        } catch is CBORError {
            return nil
        } catch is NewerFormat {
            throw SyncError.newerFormat(name)
        }
        let pin = SnapshotPin(number: number, hash: object.hash)
        guard keys.agreesWithPins(pin, epoch: object.header.epoch) else {
            keys.invalid.insert(name, size: bytes.count)
            return nil
        }
        do { try keys.requireSameChain(object.header, name) } catch let error as SyncError
            where error.isDamaged
        {
            keys.invalid.insert(name, size: bytes.count)
            return nil
        }
        do {
            let content = try object.open(key: try keys.key(ofEpoch: object.header.epoch))
            let manifest = try SnapshotManifest(decoding: content, number: number)
            return (
                AdoptedSnapshot(
                    writer: object.header.member, hash: object.hash, epoch: object.header.epoch,
                    manifest: manifest),
                object.header.previous
            )
        } catch is CBORError where keys.hasKey(ofEpoch: object.header.epoch) {
            // Its writer sealed something that is not a manifest.
            keys.invalid.insert(name, size: bytes.count)
            return nil
        } catch let error as CBORError {
            // Without the group's keys, no manifest can be read.
            _ = try keys.currentKey()
            throw SyncError.damaged(name, error.reason)
        }
    }

    /// The last snapshot whose hash begins with what `adopted` gives for its number, among those
    /// that lead to the one of the last removal; 0 if there is none, or the store does not show it.
    func lastCommon(_ adopted: (UInt64) -> Data?) async throws -> UInt64 {
        guard var hash = keys.lastPin?.hash else { return .max }
        let least = keys.leastSnapshot
        if let adopted = adopted(least), hash.starts(with: adopted) { return least }
        for number in try await numbers(after: 0).reversed() where number <= least {
            if let adopted = adopted(number), hash.starts(with: adopted) { return number }
            if let found = try await read(number), found.snapshot.hash == hash {
                hash = found.previous
            }
        }
        return 0
    }

    /// The last one that counts.
    func newest(of numbers: [UInt64]) async throws -> AdoptedSnapshot? {
        for number in numbers.reversed() {
            // One by a former member counts if a later one follows it, which would be newer.
            if let found = try await read(number), keys.countsAlone(found.snapshot) {
                return found.snapshot
            }
        }
        return nil
    }

    /// Creates the manifest of the next snapshot; returns nil if another one has its number.
    func create(
        _ manifest: SnapshotManifest, after previous: AdoptedSnapshot?
    ) async throws -> AdoptedSnapshot? {
        let number = manifest.declaration.number
        let header = BatchHeader(
            .snapshot, group: keys.group, member: keys.member, number: number,
            epoch: keys.currentEpoch, previous: previous?.hash ?? Data(count: 32),
            chain: keys.position)
        let object = try SealedObject.seal(
            manifest.encoded(), header, key: try keys.currentKey(), sign: keys.sign)
        let name = SyncNames.snapshot(group: keys.group, number: number)
        if try await !store.create(name, object.bytes) {
            // The answer may have been lost.
            guard try await store.read(name) == object.bytes else { return nil }
        }
        return AdoptedSnapshot(
            writer: keys.member, hash: object.hash, epoch: header.epoch, manifest: manifest)
    }
}
