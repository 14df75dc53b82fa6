internal import SecureStorage

// Conditions that no index serves: the table is read in slices, so that no transaction is long and
// each of them can be the last.

extension BrowserPages {
    func slowPage(
        of source: RowSource, at place: PagePlace, limit: Int,
        _ progress: @escaping (String) -> Void
    ) throws -> RowPage {
        let shape = try read { try RowQuery($0, source).shape }
        guard shape.key != .offset else {
            return try read { try RowQuery($0, source).page(at: place, limit: limit) }
        }
        var rows: [BrowsedRow] = []
        try scan(source, from: place, progress) { db, slice in
            let missing = limit + 1 - rows.count
            rows += try RowQuery(db, source).rows(in: slice, limit: missing)
            return rows.count > limit
        }
        return RowPage(shape: shape, place: place, rows: rows, limit: limit)
    }

    /// Returns the page that begins with the next row in which a column contains the text, and
    /// which columns do.
    func find(
        _ search: TextSearch, in source: RowSource, from key: RowKey?, limit: Int,
        _ progress: @escaping (String) -> Void
    ) throws -> (RowPage, columns: [Int])? {
        let place: PagePlace =
            if let key { search.isForward ? .after(key) : .before(key) } else {
                search.isForward ? .first : .last
            }
        var found: RowKey?
        if try read({ try RowQuery($0, source).shape.key }) == .offset {
            found = try findInView(search, source, from: key, progress)
        } else {
            try scan(source, from: place, progress) { db, slice in
                var query = try RowQuery(db, source)
                query.search = search.text
                found = try query.rows(in: slice, limit: 1).first?.key
                return found != nil
            }
        }
        guard let found else { return nil }
        return try read { db in
            let query = try RowQuery(db, source)
            return (
                try query.page(at: .from(found), limit: limit),
                try query.columns(with: search.text, at: found)
            )
        }
    }

    /// Calls `body` with one slice of the table after the other until it returns true.
    private func scan(
        _ source: RowSource, from place: PagePlace, _ progress: (String) -> Void,
        _ body: (SecureDatabaseStore, RowSlice) throws -> Bool
    ) throws {
        var slice = RowSlice(from: place)
        var count = 0
        while true {
            let end = try read { db -> (RowKey?, Bool) in
                // The condition is not part of the boundary: it might skip millions of rows.
                let boundary = try RowQuery(db, RowSource(table: source.table))
                    .boundary(of: slice, length: Self.sliceLength)
                slice.end = boundary
                return (boundary, try body(db, slice))
            }
            guard let next = end.0, !end.1 else { return }
            slice = RowSlice(after: next, isForward: slice.isForward)
            count += Self.sliceLength
            progress("\(count) rows read; Esc stops")
        }
    }

    private func findInView(
        _ search: TextSearch, _ source: RowSource, from key: RowKey?,
        _ progress: (String) -> Void
    ) throws -> RowKey? {
        let length = 5_000
        let all = try read { try RowQuery($0, source).length(upTo: Self.longestView) }
        var start = search.isForward ? 0 : all - 1
        if case .offset(let row) = key { start = search.isForward ? row + 1 : row - 1 }
        while start >= 0, start < all {
            let range =
                search.isForward
                ? start..<min(all, start + length) : max(0, start + 1 - length)..<start + 1
            let found = try read { db in
                var query = try RowQuery(db, source)
                query.search = search.text
                return try query.offsets(in: range)
            }
            if let row = search.isForward ? found.first : found.last { return .offset(row) }
            start = search.isForward ? range.upperBound : range.lowerBound - 1
            progress("\(search.isForward ? range.upperBound : all - range.lowerBound) rows read")
        }
        return nil
    }
}

/// A part of a table in the order of its key.
struct RowSlice: Sendable {
    var start: RowKey?
    var includesStart = false
    /// Included.
    var end: RowKey?
    let isForward: Bool

    init(after start: RowKey, isForward: Bool) {
        self.start = start
        self.isForward = isForward
    }

    init(from place: PagePlace) {
        switch place {
        case .first: (start, isForward) = (nil, true)
        case .last: (start, isForward) = (nil, false)
        case .after(let key): (start, isForward) = (key, true)
        case .before(let key): (start, isForward) = (key, false)
        case .from(let key): (start, includesStart, isForward) = (key, true, true)
        }
    }
}

extension RowPage {
    /// Creates a page of rows in the order in which they were read, one more than `limit` if there
    /// are more.
    init(shape: TableShape, place: PagePlace, rows: [BrowsedRow], limit: Int) {
        let hasMore = rows.count > limit
        let isForward = RowSlice(from: place).isForward
        let shown = Array(rows.prefix(limit))
        self.init(
            shape: shape, rows: isForward ? shown : shown.reversed(), place: place,
            isAtStart: isForward ? place == .first : !hasMore,
            isAtEnd: isForward ? !hasMore : place == .last)
    }
}
