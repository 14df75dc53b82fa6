/// Reads the trees of a damaged database: what is in sound pages, and which pages are not.
final class TreeReader {
    private let view: PageView
    private let cipher: PageCipher
    let encoding: RecordReader.TextEncoding
    /// `PRAGMA user_version` and `PRAGMA application_id`; 0 when the first page is damaged.
    let userVersion: Int32
    let applicationID: Int32
    private var usableSize: Int { cipher.format.pageSize - cipher.format.reservedBytes }

    /// Pages that a tree, an overflow chain or the list of free pages was found to hold.
    private(set) var visited: Set<UInt32> = []
    /// Whether the list of free pages could be read to its end: an orphan may be a free page else.
    private(set) var knowsFreePages = false

    /// A row, or an entry of a table without row ids.
    struct Row {
        let rowID: Int64?
        /// nil when it cannot be read to its end.
        let values: [SQLiteValue]?
    }

    /// Where a tree has lost a page: rows whose ids are above one and not above the other.
    struct Gap {
        let above: Int64?
        let upTo: Int64?

        func holds(_ rowIDs: [Int64]) -> Bool {
            rowIDs.allSatisfy { id in
                (above.map { id > $0 } ?? true) && (upTo.map { id <= $0 } ?? true)
            }
        }
    }

    init(view: PageView, cipher: PageCipher) throws {
        self.view = view
        self.cipher = cipher
        let first = try Self.content(1, view, cipher)
        encoding =
            first.flatMap { RecordReader.TextEncoding(rawValue: Int($0[59])) } ?? .utf8
        func number(_ offset: Int) -> Int32 {
            first?[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int32($1) } ?? 0
        }
        userVersion = number(60)
        applicationID = number(68)
        if let first { try readFreePages(first) }
    }

    private static func content(
        _ number: UInt32, _ view: PageView, _ cipher: PageCipher
    ) throws -> [UInt8]? {
        guard number > 0, number <= view.pageCount, let page = try view.page(number) else {
            return nil
        }
        return page.withUnsafeBytes {
            cipher.isAuthentic($0, number: number) ? cipher.decrypt($0, number: number) : nil
        }
    }

    /// A page of a tree; nil when it is damaged.
    func page(_ number: UInt32) throws -> BTreePage? {
        try Self.content(number, view, cipher).flatMap {
            BTreePage($0, number: number, usableSize: usableSize)
        }
    }

    /// Lends all rows of the tree below `root`, in order; says where pages are missing.
    func walk(_ root: UInt32, _ row: (Row) throws -> Void) throws -> [Gap] {
        var gaps: [Gap] = []
        try walk(root, Gap(above: nil, upTo: nil), depth: 0, &gaps, row)
        return gaps
    }

    private func walk(
        _ number: UInt32, _ range: Gap, depth: Int, _ gaps: inout [Gap], _ row: (Row) throws -> Void
    ) throws {
        // SQLite's own bound is 20; a damaged link may lead round in a circle.
        guard depth < 32, !visited.contains(number), let page = try page(number) else {
            gaps.append(range)
            return
        }
        visited.insert(number)
        var above = range.above
        for index in 0..<page.header.cellCount {
            guard let cell = page.cell(index) else {
                gaps.append(Gap(above: above, upTo: range.upTo))
                continue
            }
            if let child = cell.leftChild {
                try walk(
                    child, Gap(above: above, upTo: cell.rowID ?? range.upTo), depth: depth + 1,
                    &gaps, row)
                above = cell.rowID
            }
            if page.header.kind != .tableInterior { try row(read(cell, isInTree: true)) }
        }
        if let child = page.rightChild {
            try walk(child, Gap(above: above, upTo: range.upTo), depth: depth + 1, &gaps, row)
        }
    }

    /// The rows of one page.
    func rows(of page: BTreePage) throws -> [Row] {
        guard page.header.kind != .tableInterior else { return [] }
        return try (0..<page.header.cellCount).map { index in
            guard let cell = page.cell(index) else { return Row(rowID: nil, values: nil) }
            return try read(cell)
        }
    }

    /// What a page outside of the trees says of its overflow pages may be long out of date; so only a cell
    /// in a tree keeps them from being looked at for themselves.
    private func read(_ cell: BTreePage.Cell, isInTree: Bool = false) throws -> Row {
        var record = Array(cell.local)
        var next = cell.overflow
        var chain: Set<UInt32> = []
        while record.count < cell.payloadSize {
            guard let number = next, chain.insert(number).inserted,
                let page = try Self.content(number, view, cipher)
            else { return Row(rowID: cell.rowID, values: nil) }
            let count = min(usableSize - 4, cell.payloadSize - record.count)
            record += page[4..<(4 + count)]
            next = page[..<4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        if isInTree { visited.formUnion(chain) }
        return Row(rowID: cell.rowID, values: RecordReader.values(record, encoding))
    }

    /// The pages of trees that no tree was found to hold: leaves, and entries of tables without row ids.
    func orphans(_ body: (UInt32, BTreePage) throws -> Void) throws {
        for number in view.heldPages(of: view.pageCount) where !visited.contains(number) {
            guard let page = try page(number), page.header.kind != .tableInterior else { continue }
            try body(number, page)
        }
    }

    /// What is in free pages was deleted; SQLite does not always wipe it.
    private func readFreePages(_ first: [UInt8]) throws {
        func number(_ page: [UInt8], _ offset: Int) -> UInt32 {
            page[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
        }
        var trunk = number(first, 32)
        while trunk != 0 {
            guard !visited.contains(trunk), let page = try Self.content(trunk, view, cipher) else {
                return
            }
            visited.insert(trunk)
            let count = min(Int(number(page, 4)), usableSize / 4 - 2)
            for index in 0..<max(count, 0) { visited.insert(number(page, 8 + 4 * index)) }
            trunk = number(page, 0)
        }
        knowsFreePages = true
    }
}
