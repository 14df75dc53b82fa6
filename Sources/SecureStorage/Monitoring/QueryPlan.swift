/// A step of the way in which SQLite runs a statement, with the steps that it consists of.
///
/// ``SecureDatabaseStore/explain(_:)`` returns the root, whose ``detail`` is `QUERY PLAN`.
///
/// ```text
/// QUERY PLAN
/// |--SEARCH note USING INDEX note_at (at>?)
/// `--USE TEMP B-TREE FOR ORDER BY
/// ```
///
/// `SCAN` reads a whole table or index, `SEARCH` a part of one. The words are SQLite's and can
/// change with its version: they are for people. See
/// [EXPLAIN QUERY PLAN](https://sqlite.org/eqp.html).
public struct QueryPlan: Sendable, Equatable {
    /// What the step does, in SQLite's words; it names tables and indexes, but has no values.
    public let detail: String

    /// The steps that this one consists of, in the order in which they run.
    public internal(set) var children: [QueryPlan] = []

    init(_ detail: String) { self.detail = detail }

    /// Builds the tree from the rows of `EXPLAIN QUERY PLAN`, each after its parent.
    init(rows: [(id: Int64, parent: Int64, detail: String)]) {
        self.init("QUERY PLAN")
        let byParent = Dictionary(grouping: rows, by: \.parent)
        func steps(below id: Int64) -> [QueryPlan] {
            (byParent[id] ?? []).map { row in
                var step = QueryPlan(row.detail)
                // The engine's ids grow: a row that is its own ancestor would not end.
                if row.id > id { step.children = steps(below: row.id) }
                return step
            }
        }
        children = steps(below: 0)
    }
}

extension QueryPlan: CustomStringConvertible {
    /// The tree as `sqlite3` draws it, one line for each step, without a line break at the end.
    public var description: String {
        ([detail] + lines(indentedBy: "")).joined(separator: "\n")
    }

    private func lines(indentedBy indentation: String) -> [String] {
        children.enumerated().flatMap { index, child in
            let isLast = index == children.count - 1
            return [indentation + (isLast ? "`--" : "|--") + child.detail]
                + child.lines(indentedBy: indentation + (isLast ? "   " : "|  "))
        }
    }
}
