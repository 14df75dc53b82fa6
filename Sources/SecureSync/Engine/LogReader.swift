internal import Foundation
internal import ObjectStores
internal import SecureStorage

/// One member's log, from the first batch not applied here.
struct LogReader {
    private let log: MemberLog
    var member: MemberID { log.member }
    /// The batch that the next one follows.
    private(set) var position: BatchPosition
    /// The batches listed after the position, without gaps.
    private(set) var listed: [MemberLog.Place] = []
    /// The batches listed after the first gap.
    private(set) var beyond: [MemberLog.Place] = []
    /// Whether there is a batch whose predecessor is missing.
    private(set) var isTorn = false
    /// The next transaction, once it is read.
    private(set) var next: Transaction?

    /// The batches of one transaction.
    struct Transaction: Sendable {
        /// The positions that its writer had applied.
        var positions: [BatchPosition]
        var changes: [RowChange]
        /// Its last batch.
        var position: BatchPosition
        /// When it was sealed, in milliseconds since 1970, by its writer's clock.
        var time: UInt64
        var batches: [Batch]
        /// The object of its last batch.
        var name: String
        /// The epoch whose key sealed the first batch, which has the positions.
        var epoch: UInt64
    }

    /// The parts of a batch that are kept.
    struct Batch: Sendable {
        var position: BatchPosition
        var time: UInt64
        var lowerBound: UInt64
        var size: Int
    }

    init(_ position: BatchPosition, _ store: any ObjectStore, _ keys: GroupKeys) {
        log = MemberLog(store: store, keys: keys, member: position.member)
        self.position = position
    }

    /// Lists the log's batches in the store.
    ///
    /// - Parameters:
    ///   - covered: The last batch that a snapshot contains: batches up to it may be gone.
    ///   - limit: The last batch that counts; nil for an open log.
    /// - Throws: ``SyncError/storeHasForgotten(_:have:found:)`` if the last applied batch is
    ///   missing; `Inbox.NeedsSnapshot` if the next one is gone, and a snapshot has it.
    mutating func list(covered: UInt64 = 0, limit: UInt64? = nil) async throws {
        let limit = limit ?? .max
        let places = try await log.places(from: max(position.number, 1))
        if position.number > covered, position.number > 0, places.first?.number != position.number {
            let all = try await log.places()
            throw SyncError.storeHasForgotten(
                SyncLog(member), have: position.number,
                found: all.last { $0.number < position.number }?.number ?? 0)
        }
        let later = places.filter { $0.number > position.number && $0.number <= limit }
        listed = []
        for place in later {
            guard place.number == end + 1 else { break }
            listed.append(place)
        }
        // Batches are removed from the beginning: if the last applied one is there, no later one is
        // gone, and a snapshot that claims more is wrong.
        let isThere = position.number > 0 && places.first?.number == position.number
        if end < min(covered, limit), !isThere { throw Inbox.NeedsSnapshot() }
        beyond = Array(later[listed.count...])
        isTorn = try await log.hasBatch(in: beyond)
    }

    /// The last listed number.
    var end: UInt64 { listed.last?.number ?? position.number }

    /// Reads the next transaction, if the store has all of it.
    ///
    /// - Parameter limit: The last batch that counts; nil for an open log.
    /// - Returns: nil at the end of the log.
    /// - Throws: ``SyncError/damaged(_:_:)`` if an object that is not a batch precedes one, or if a
    ///   batch cannot be read; ``SyncError/newerFormat(_:)``; the store's errors.
    mutating func readNext(limit: UInt64? = nil) async throws -> Transaction? {
        if let next { return next.position.number <= limit ?? .max ? next : nil }
        var assembly = TransactionAssembly()
        var (previous, batches, epoch) = (position, [Batch](), UInt64?.none)
        for (index, place) in listed.enumerated() {
            guard place.number <= limit ?? .max else { return nil }
            let (bytes, name): (Data, String)
            switch try await log.read(place) {
            case .batch(let found, let place): (bytes, name) = (found, place)
            case .nothing: throw SyncError.withheld(SyncLog(member), number: place.number)
            case .other(let name):
                if try await log.hasBatch(in: listed[(index + 1)...]) {
                    throw SyncError.damaged(name, MemberLog.isOther)
                }
                // A stranger's object; the log ends before it.
                beyond = listed[index...] + beyond
                listed.removeSubrange(index...)
                return nil
            }
            let (batch, body) = try Self.open(bytes, name, log.keys, after: previous.hash)
            previous = BatchPosition(member: member, number: place.number, hash: batch.hash)
            batches.append(
                Batch(
                    position: previous, time: body.time, lowerBound: body.lowerBound,
                    size: bytes.count))
            epoch = epoch ?? batch.header.epoch
            if let whole = try Self.reading(name, { try assembly.add(body) }) {
                next = Transaction(
                    positions: whole.positions, changes: TransactionParts.joined(whole.changes),
                    position: previous, time: whole.time,
                    batches: batches, name: name, epoch: epoch ?? 0)
                return next
            }
        }
        return nil
    }

    private static func reading<R>(_ name: String, _ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as CBORError {
            throw SyncError.damaged(name, error.reason)
        } catch is NewerFormat {
            throw SyncError.newerFormat(name)
        }
    }

    /// Checks that the log continues to the last batch of a removed member that counts.
    ///
    /// The member may have replaced batches, in the store or before this file applied them.
    ///
    /// - Parameters:
    ///   - last: The position in the chain.
    ///   - contained: The last batch that the adopted snapshot has.
    /// - Throws: `Inbox.Stale` if this file has applied others than those that count;
    ///   ``SyncError/damaged(_:_:)``; ``SyncError/withheld(_:number:)``;
    ///   ``SyncError/newerFormat(_:)``; the store's errors.
    func requireEnd(_ last: BatchPosition, contained: UInt64) async throws {
        guard last.number > position.number else { return }
        guard end >= last.number else { throw failure(naming: end + 1) }
        var hash = last.hash
        for place in listed.reversed() where place.number <= last.number {
            guard case .batch(let bytes, let name) = try await log.read(place) else {
                throw failure(naming: place.number)
            }
            guard MembershipState.hash(of: bytes) == hash,
                let header = try? BatchHeader(reading: bytes)
            else {
                throw SyncError.damaged(
                    name, "it is not the batch that counted when its member was removed")
            }
            hash = header.previous
        }
        guard hash != position.hash else { return }
        // A new start would find what a snapshot has again.
        guard position.number <= contained || !log.keys.wasRemoved(member) else {
            throw Inbox.Stale()
        }
        throw SyncError.damaged(
            log.name(position.number + 1), "it does not follow the batch before it")
    }

    /// Why a batch that is known to exist cannot be read.
    func failure(naming number: UInt64) -> SyncError {
        guard let place = beyond.first, place.number == number, let attempt = place.tries.last
        else { return .withheld(SyncLog(member), number: number) }
        return .damaged(log.name(number, attempt), MemberLog.isOther)
    }

    /// Moves past the transaction that was read.
    mutating func advance() {
        guard let done = next else { return }
        position = done.position
        listed.removeAll { $0.number <= done.position.number }
        next = nil
    }

    /// Opens a batch that its member signed for its place, and checks that it follows the given
    /// hash, if any.
    ///
    /// - Throws: ``SyncError/damaged(_:_:)``; ``SyncError/newerFormat(_:)``.
    static func open(
        _ bytes: Data, _ name: String, _ keys: GroupKeys, after previous: Data?
    ) throws -> (batch: SealedBatch, body: BatchBody) {
        try reading(name) {
            let batch = try SealedBatch(reading: bytes)
            guard batch.header.previous == previous ?? batch.header.previous else {
                throw SyncError.damaged(name, "it does not follow the batch before it")
            }
            try keys.requireSameChain(batch.header, name)
            return (batch, try batch.open(key: try keys.key(ofEpoch: batch.header.epoch)))
        }
    }
}
