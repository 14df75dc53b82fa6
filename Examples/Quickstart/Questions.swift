import SecureStorage

/// Queries on a database of packages.
///
/// Each query is one block of the queue. It returns plain values; result sets stay inside the
/// block.
extension PackageDatabase {
    struct Largest: Sendable {
        let name: String
        let kibibytes: Int
        let summary: String
    }

    func largestPackages(_ count: Int) throws -> [Largest] {
        try queue.inDatabase { db in
            let rs = try db.executeQuery(
                """
                SELECT name, installed_size, summary FROM package
                WHERE installed_size IS NOT NULL ORDER BY installed_size DESC, name LIMIT ?
                """, values: [count])
            var rows: [Largest] = []
            while try rs.next() {
                rows.append(
                    Largest(
                        name: rs.string(forColumnName: "name") ?? "",
                        kibibytes: rs.int(forColumnName: "installed_size") ?? 0,
                        summary: rs.string(forColumnName: "summary") ?? ""))
            }
            return rows
        }
    }

    struct MostNeeded: Sendable {
        let name: String
        let dependents: Int
        /// nil for a package that is not in the list.
        let summary: String?
    }

    func mostNeededPackages(_ count: Int) throws -> [MostNeeded] {
        try queue.inDatabase { db in
            let rs = try db.executeQuery(
                """
                SELECT on_name, count(*) AS dependents,
                       (SELECT summary FROM package WHERE name = on_name) AS summary
                FROM dependency GROUP BY on_name ORDER BY dependents DESC, on_name LIMIT ?
                """, values: [count])
            var rows: [MostNeeded] = []
            while try rs.next() {
                rows.append(
                    MostNeeded(
                        name: rs.string(forColumnName: "on_name") ?? "",
                        dependents: rs.int(forColumnName: "dependents") ?? 0,
                        summary: rs.string(forColumnName: "summary")))
            }
            return rows
        }
    }

    struct Match: Sendable {
        let name: String
        /// Higher is better.
        let score: Double
        /// The matching part of the description, with `[` and `]` around the matches.
        let snippet: String
    }

    /// Returns the number of packages that match `words`, and the best matches.
    ///
    /// `words` is a query of [FTS5](https://sqlite.org/fts5.html#full_text_query_syntax).
    func search(_ words: String, limit: Int) throws -> (total: Int, best: [Match]) {
        // One transaction, so that both answers are consistent even if another process writes in
        // between.
        var total = 0
        var best: [Match] = []
        try queue.inDeferredTransaction { db in
            let count = try db.executeQuery(
                "SELECT count(*) FROM package_text WHERE package_text MATCH ?", values: [words])
            if try count.next() { total = count.int(forColumnIndex: 0) ?? 0 }
            // A match in the name has five times the weight of one in the description.
            let rs = try db.executeQuery(
                """
                SELECT name, -bm25(package_text, 5, 1) AS score,
                       snippet(package_text, 1, '[', ']', '…', 10) AS snippet
                FROM package_text WHERE package_text MATCH :words
                ORDER BY score DESC, name LIMIT :limit
                """, parameterDictionary: ["words": words, "limit": limit])
            while try rs.next() {
                best.append(
                    Match(
                        name: rs.string(forColumnName: "name") ?? "",
                        score: rs.double(forColumnName: "score") ?? 0,
                        snippet: rs.string(forColumnName: "snippet") ?? ""))
            }
            return false
        }
        return (total, best)
    }
}
