internal import Foundation
internal import SecureStorage

/// Which timestamps other members may use.
///
/// Without limits, a member could create rows that nobody can change again, or write in another
/// member's name.
struct TimestampRules {
    /// In milliseconds, like ``Capture/mostAhead``.
    let mostAhead: UInt64
    /// The latest accepted time, in milliseconds since 1970.
    let latest: UInt64

    init(_ capture: Capture, in db: SecureDatabaseStore) throws {
        mostAhead = capture.mostAhead
        latest = try capture.machineTime(in: db) + mostAhead
    }

    /// Checks a transaction of a member against its log's lower bound.
    ///
    /// - Throws: ``SyncError/clockIsAhead(_:until:)``; `.damaged` for changes that no member
    ///   writes.
    func check(
        _ transaction: LogReader.Transaction, of member: MemberID, after lowerBound: UInt64
    ) throws {
        let greatest = transaction.changes.reduce(transaction.time) {
            max($0, $1.greatestTimestamp.milliseconds)
        }
        guard greatest <= latest else {
            let until = Double(greatest - mostAhead) / 1000
            throw SyncError.clockIsAhead(
                SyncLog(member), until: Date(timeIntervalSince1970: until))
        }
        guard lowerBound > 0 else { return }
        for change in transaction.changes {
            guard change.written.allSatisfy({ $0.milliseconds > lowerBound }) else {
                throw SyncError.damaged(
                    transaction.name, "a row is older than its log's lower bound")
            }
            guard change.written.allSatisfy({ $0.member == member }),
                // An edited row's incarnation may be any member's.
                change.incarnation.timestamp <= change.greatestWritten
            else { throw SyncError.damaged(transaction.name, "a row is in another member's name") }
        }
    }

    /// Checks the rows or the stable point of a snapshot, whose writer accepted timestamps up to a
    /// month ahead of its clock.
    ///
    /// - Throws: ``SyncError/clockIsAhead(_:until:)``.
    func check(ofSnapshot times: some Sequence<UInt64>, by writer: MemberID) throws {
        let greatest = times.max() ?? 0
        guard greatest > latest + mostAhead else { return }
        let until = Double(greatest - 2 * mostAhead) / 1000
        throw SyncError.clockIsAhead(
            SyncLog(writer), until: Date(timeIntervalSince1970: until))
    }
}

extension RowChange {
    /// The timestamps given by its writer: for an edit, those of its columns.
    fileprivate var written: [Timestamp] {
        incarnation.isAlive && !columnGroups.isEmpty
            ? columnGroups.map(\.timestamp) : [incarnation.timestamp]
    }

    fileprivate var greatestWritten: Timestamp { written.max() ?? incarnation.timestamp }
}
