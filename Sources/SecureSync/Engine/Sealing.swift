internal import Foundation
internal import SecureStorage

/// Seals a sequence of changes as batches of this member's log; in a write transaction of the file.
///
/// Holds at most two parts: an import may have more rows than fit in memory.
struct Sealing {
    private let keys: GroupKeys
    private let capture: Capture
    private let journal: SyncJournal
    private var place: SyncJournal.Place
    private var splitting = TransactionParts.Splitting()
    /// A part that is sealed once it is known whether its transaction has another part.
    private var held: [RowChange]?
    /// The size of the transaction's parts so far, including the held one.
    private var memory = 0
    private var count = 0
    /// The positions in the first batch.
    private var positions: [BatchPosition]?

    init(
        _ keys: GroupKeys, _ capture: Capture, _ journal: SyncJournal, _ place: SyncJournal.Place
    ) {
        (self.keys, self.capture, self.journal, self.place) = (keys, capture, journal, place)
    }

    /// - Throws: ``SyncError/rowTooLarge(_:)``; the errors of the database.
    mutating func add(_ change: RowChange) throws {
        count += 1
        if let full = try splitting.add(change) { try hold(full) }
    }

    /// Seals the rest.
    ///
    /// - Parameter isNeeded: Whether to seal a batch without rows if nothing was added.
    /// - Returns: How many changes were sealed.
    /// - Throws: ``SyncError/rowTooLarge(_:)``; the errors of the database.
    @discardableResult
    mutating func finish(evenIfEmpty isNeeded: Bool) throws -> Int {
        guard count > 0 || isNeeded else { return 0 }
        try hold(splitting.part)
        // Pending changes are older, as the rest of this transaction may be.
        try seal(held ?? [], isLast: true, hasLowerBound: !journal.hasPending())
        let now = try capture.now(in: journal.db)
        for position in positions ?? [] {
            try journal.setAcknowledgement(by: place.member, of: position.member, position.number)
        }
        // Later timestamps are above the last batch's lower bound.
        try capture.raiseLowerBound(to: now, in: journal.db)
        place.published = try capture.machineTime(in: journal.db)
        try journal.setPlace(place)
        return count
    }

    private mutating func hold(_ part: [RowChange]) throws {
        if let held {
            let isLast = TransactionParts.isLast(after: memory, held.last, before: part)
            try seal(held, isLast: isLast)
            if isLast { memory = 0 }
        }
        held = part
        memory += TransactionParts.memory(of: part)
    }

    private mutating func seal(
        _ changes: [RowChange], isLast: Bool, hasLowerBound: Bool = false
    ) throws {
        let told = try positions == nil ? journal.positionsToTell(by: place.member) : []
        positions = positions ?? told
        let body = BatchBody(
            time: try capture.now(in: journal.db), schema: try journal.schemaNumber(),
            positions: told,
            changes: changes, isLast: isLast, hasLowerBound: hasLowerBound)
        try append(body)
    }

    /// Seals a body as the next batch of this member's log.
    private func append(_ body: BatchBody) throws {
        let position = try journal.position(of: place.member)
        let header = BatchHeader(
            group: place.group, member: place.member, number: position.number + 1,
            epoch: keys.currentEpoch, previous: position.hash, chain: keys.position)
        let batch = try SealedBatch.seal(
            body, header, key: try keys.currentKey(), sign: keys.sign)
        try journal.addOutgoing(.init(number: header.number, bytes: batch.bytes))
        try journal.setPosition(
            BatchPosition(member: place.member, number: header.number, hash: batch.hash),
            time: body.time, lowerBound: body.lowerBound, size: batch.bytes.count)
    }
}

extension SyncJournal {
    /// Positions of other logs that this member applied and has not yet acknowledged.
    fileprivate func positionsToTell(by member: MemberID) throws -> [BatchPosition] {
        var told = try positions().filter { $0.member != member }
        // The adopted snapshot, as if it were a log without a member.
        if let adopted = try adopted() {
            told.append(BatchPosition(member: .none, number: adopted.number, hash: adopted.hash))
        }
        return try told.filter { try $0.number > acknowledgement(by: member, of: $0.member) }
    }
}
