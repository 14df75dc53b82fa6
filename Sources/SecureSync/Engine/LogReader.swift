internal import Foundation
internal import SecureStorage

/// One member's log in the store, from the batch after the last one that was applied here.
struct LogReader {
    let member: MemberID
    /// The batch that the next one follows.
    private(set) var head: LogHead
    /// The numbers of the batches that the store has listed after the head.
    private(set) var listed: [UInt64]
    /// The next transaction, once it was read.
    private(set) var next: Transaction?

    /// The batches of one transaction.
    struct Transaction: Sendable {
        /// What its writer had applied before.
        var heads: [LogHead]
        var changes: [RowChange]
        /// Its last batch.
        var head: LogHead
        /// When it was sealed, in milliseconds since 1970, by its writer's clock.
        var time: UInt64
        var batches: [Batch]
    }

    /// What is kept of a batch.
    struct Batch: Sendable {
        var head: LogHead
        var time: UInt64
        var size: Int
    }

    init(_ head: LogHead) {
        member = head.member
        self.head = head
        listed = []
    }

    /// Lists what the store has of the log.
    ///
    /// - Parameters:
    ///   - store: The group's.
    ///   - group: Its 16 bytes.
    ///   - covered: The last batch that a snapshot contains: up to it, batches may be gone.
    /// - Throws: ``SyncError/storeHasForgotten(_:have:found:)`` if the last applied batch is
    ///   missing; `Inbox.NeedsSnapshot` if the next one is gone, and a snapshot has it.
    mutating func list(
        _ store: any SyncObjectStore, group: Data, covered: UInt64 = 0
    ) async throws {
        let prefix = SyncNames.log(group: group, member: member)
        let numbers = try await store.listNumbers(
            prefix,
            after: head.number < 2
                ? nil : SyncNames.batch(group: group, member: member, number: head.number - 1))
        if head.number > covered, numbers.first != head.number {
            let all = try await store.listNumbers(prefix)
            throw SyncError.storeHasForgotten(
                SyncLog(member), have: head.number, found: all.last { $0 < head.number } ?? 0)
        }
        listed = numbers.filter { $0 > head.number }
        for (index, number) in listed.enumerated() where number != head.number + 1 + UInt64(index) {
            let missing = head.number + 1 + UInt64(index)
            guard missing > covered else { throw Inbox.NeedsSnapshot() }
            throw SyncError.withheld(SyncLog(member), number: missing)
        }
        if end < covered { throw Inbox.NeedsSnapshot() }
    }

    /// The last batch that the store has listed.
    var end: UInt64 { listed.last ?? head.number }

    /// Reads the next transaction, if the store has all of it.
    mutating func readNext(
        _ store: any SyncObjectStore, _ keys: GroupKeys
    ) async throws -> Transaction? {
        if let next { return next }
        var assembly = TransactionAssembly()
        var (previous, batches) = (head, [Batch]())
        for number in listed {
            let name = SyncNames.batch(group: keys.group, member: member, number: number)
            guard let bytes = try await store.read(name) else {
                throw SyncError.withheld(SyncLog(member), number: number)
            }
            let (batch, body) = try Self.open(
                bytes, name, keys, number, of: member, after: previous.hash)
            previous = LogHead(member: member, number: number, hash: batch.hash)
            batches.append(Batch(head: previous, time: body.time, size: bytes.count))
            if let whole = assembly.add(body) {
                next = Transaction(
                    heads: whole.heads, changes: whole.changes, head: previous, time: whole.time,
                    batches: batches)
                return next
            }
        }
        return nil
    }

    /// Goes on after the transaction that was read.
    mutating func advance() {
        guard let done = next else { return }
        head = done.head
        listed.removeAll { $0 <= done.head.number }
        next = nil
    }

    /// Opens the batch of these bytes, if it has this place and follows the one with the hash, if
    /// there is one.
    static func open(
        _ bytes: Data, _ name: String, _ keys: GroupKeys, _ number: UInt64, of member: MemberID,
        after previous: Data?
    ) throws -> (batch: SealedBatch, body: BatchBody) {
        do {
            let batch = try SealedBatch(reading: bytes)
            let header = batch.header
            guard header.group == keys.group, header.member == member, header.number == number
            else { throw SyncError.damaged(name, "it belongs at another place") }
            guard header.previous == previous ?? header.previous else {
                throw SyncError.damaged(name, "it does not follow the batch before it")
            }
            try batch.verify { keys.isValid($0, for: $1, by: header.member) }
            return (batch, try batch.open(key: try keys.key(ofEpoch: header.epoch)))
        } catch let error as CBORError {
            throw SyncError.damaged(name, error.reason)
        } catch is NewerFormat {
            throw SyncError.newerFormat(name)
        }
    }
}
