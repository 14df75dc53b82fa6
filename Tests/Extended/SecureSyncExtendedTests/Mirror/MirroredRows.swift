import Foundation
import SecureStorage
import TestSupport

/// The rows of a table `t` that a mirror has to keep.
enum MirroredRows {
    /// Returns the id and the value of each.
    static func all(_ db: SecureDatabaseStore) throws -> [Data] {
        let rs = try db.executeQuery("SELECT id, x FROM t ORDER BY id")
        defer { rs.close() }
        var rows: [Data] = []
        while try rs.next() {
            rows.append(
                Data("\(rs.int(forColumnIndex: 0) ?? 0) ".utf8)
                    + (rs.data(forColumnIndex: 1) ?? Data()))
        }
        return rows
    }
}
