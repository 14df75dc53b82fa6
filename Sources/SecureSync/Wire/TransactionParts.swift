internal import Foundation
internal import SecureStorage

/// The parts of one transaction: a large one is several batches, which are applied as one.
package enum TransactionParts {
    static let longestRow = 16 << 20
    static let mostRows = 1000
    static let mostBytes = 256 << 10

    /// Divides changes into parts of at most 1,000 rows or 256 KiB, unless one row is larger.
    ///
    /// - Returns: One part at least, which may be empty.
    /// - Throws: ``SyncError/rowTooLarge(_:)`` for a row of more than 16 MiB.
    package static func split(_ changes: [RowChange]) throws -> [ArraySlice<RowChange>] {
        var parts: [ArraySlice<RowChange>] = []
        var (start, bytes) = (0, 0)
        for (index, change) in changes.enumerated() {
            let size = size(of: change)
            guard size <= longestRow else { throw SyncError.rowTooLarge(change.table) }
            if index > start, index - start == mostRows || bytes + size > mostBytes {
                parts.append(changes[start..<index])
                (start, bytes) = (index, 0)
            }
            bytes += size
        }
        parts.append(changes[start...])
        return parts
    }

    /// About the bytes that a change takes in a body.
    private static func size(of change: RowChange) -> Int {
        let values = change.key + change.registers.lazy.flatMap(\.values)
        return values.reduce(16 + 8 * change.registers.count) { size, value in
            switch value {
            case .null: size + 1
            case .integer, .real: size + 9
            case .text(let text): size + 5 + text.utf8.count
            case .blob(let bytes): size + 5 + bytes.count
            }
        }
    }
}

/// Puts the parts of a log's transactions together, batch after batch.
package struct TransactionAssembly {
    private var begun: BatchBody?

    package init() {}

    /// Adds the next batch of a log.
    ///
    /// - Returns: The whole transaction, with the heads of its first part, if this was its last.
    package mutating func add(_ body: BatchBody) -> BatchBody? {
        var whole = begun ?? body
        if begun != nil {
            whole.heads += body.heads
            whole.changes += body.changes
            (whole.time, whole.isLast) = (body.time, body.isLast)
        }
        begun = body.isLast ? nil : whole
        return body.isLast ? whole : nil
    }
}
