package import SecureStorage

extension Capture {
    /// A number that changes with every captured write; nil if no write waits for a timestamp.
    package func waitingMarks(in db: SecureDatabaseStore) throws -> Int64? {
        var last: Int64?
        for shape in try shapes(in: db) {
            let id = try db.int64(forQuery: "SELECT max(id) FROM \(shape.markTable)")
            if let id { last = (last ?? 0) &+ id }
        }
        return last
    }
}
