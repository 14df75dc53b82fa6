package import SecureStorage

/// The local numbers of members, which keep clocks short.
///
/// For use within a single transaction; a rollback may undo the assignment of numbers.
package final class MemberNumbers {
    private let db: SecureDatabaseStore
    private var numbers: [MemberID: Int64] = [.none: 0]
    private var members: [Int64: MemberID] = [0: .none]

    package init(in db: SecureDatabaseStore) throws {
        self.db = db
        let rows = try db.executeQuery("SELECT number, id FROM main.securestorage_sync_member")
        defer { rows.close() }
        while try rows.next() {
            guard case .integer(let number) = try rows.sqliteValue(at: 0),
                case .blob(let bytes) = try rows.sqliteValue(at: 1), let id = MemberID(bytes)
            else { continue }
            numbers[id] = number
            members[number] = id
        }
    }

    /// Returns a member's number; assigns one the first time.
    package func number(of member: MemberID) throws -> Int64 {
        if let number = numbers[member] { return number }
        let number = (members.keys.max() ?? 0) + 1
        try db.executeUpdate(
            "INSERT INTO main.securestorage_sync_member (number, id) VALUES (?, ?)",
            values: [number, member.bytes])
        numbers[member] = number
        members[number] = member
        return number
    }

    /// Returns nil if no member has the number.
    package func member(numbered number: Int64) -> MemberID? { members[number] }
}
