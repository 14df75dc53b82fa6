/// Reads the trees of a damaged database: the content of sound pages, and which pages are not
/// sound.
///
/// Nothing that a page says of another one is trusted on its own. First the trees are walked to see
/// which pages each of them claims (``claim(_:)``), then rows are read. The owner of a page that is
/// claimed twice is unknown.
final class TreeReader {
    private let view: PageView
    private let cipher: PageCipher
    let header: DatabaseHeader
    private let usableSize: Int
    /// Pages that it has changed count as damaged ones of a tree.
    private let unfinished: UnfinishedTransaction?

    /// Pages that a tree, one of its long records or the list of free pages leads to.
    private var claimed = PageSet()
    /// Pages to which two of them lead.
    private var disputed = PageSet()
    private var free = PageSet()
    /// Pages whose content was passed to a caller, or is part of such content.
    private var read = PageSet()
    /// Whether the list of free pages could be read to its end: else an orphan may be a free page.
    private(set) var knowsFreePages = false

    /// A row, or an entry of a table without row ids.
    struct Row {
        let rowID: Int64?
        /// The values; nil when they cannot be read to the end.
        let values: [StoredValue]?
        /// Whether no page of the row can be of a transaction that never committed.
        var isCommitted = true
    }

    /// A place where a tree has lost a page: rows whose ids are above one and not above the other.
    struct Gap {
        var above: Int64?
        var upTo: Int64?

        func holds(_ rowIDs: [Int64]) -> Bool {
            rowIDs.allSatisfy { id in
                (above.map { id > $0 } ?? true) && (upTo.map { id <= $0 } ?? true)
            }
        }
    }

    init(view: PageView, cipher: PageCipher, unfinished: UnfinishedTransaction? = nil) throws {
        self.view = view
        self.cipher = cipher
        self.unfinished = unfinished
        let first = try Self.content(1, view, cipher)
        if let header = first.flatMap({ DatabaseHeader($0, cipher.format) }) {
            self.header = header
        } else {
            var numbers = StoredPages(view, among: view.heldPages(of: view.pageCount))
            header = try DatabaseHeader(
                from: {
                    while let number = numbers.next() {
                        if number > 1, let page = try Self.content(number, view, cipher) {
                            return page
                        }
                    }
                    return nil
                }, cipher.format)
        }
        usableSize = cipher.format.pageSize - header.reservedBytes
        if let trunk = header.firstFreePage { try claimFreePages(trunk) }
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

    private func content(_ number: UInt32) throws -> [UInt8]? {
        try Self.content(number, view, cipher)
    }

    /// Returns a page of a tree; nil when it is damaged.
    private func page(_ number: UInt32) throws -> BTreePage? {
        try content(number).flatMap { BTreePage($0, number: number, usableSize: usableSize) }
    }

    /// Whether a transaction that never committed has changed the page.
    func isUncommitted(_ number: UInt32) -> Bool { unfinished?.hasChanged(number) == true }

    private static func number(_ page: [UInt8], _ offset: Int) -> UInt32 {
        page[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    // MARK: - Whose page is it

    /// Notes which pages the tree below `root` leads to; for each tree once, before rows are read.
    func claim(_ root: UInt32) throws { try claim(root, depth: 0) }

    private func claim(_ number: UInt32, depth: Int) throws {
        guard depth < Self.deepest, take(number), !isUncommitted(number),
            let page = try page(number)
        else { return }
        for index in 0..<page.header.cellCount {
            guard let cell = page.cell(index) else { continue }
            if let child = cell.leftChild { try claim(child, depth: depth + 1) }
            var next = cell.overflow
            while let number = next, take(number), let page = try content(number) {
                next = Self.next(page)
            }
        }
        if let child = page.rightChild { try claim(child, depth: depth + 1) }
    }

    /// Claims a page; returns whether it exists and was not claimed yet.
    private func take(_ number: UInt32) -> Bool {
        guard view.holds(number) else { return false }
        guard claimed.insert(number) else {
            disputed.insert(number)
            return false
        }
        return true
    }

    /// Claims the free pages, whose content was deleted; SQLite does not always wipe it.
    private func claimFreePages(_ first: UInt32) throws {
        var trunk = first
        while trunk != 0 {
            guard take(trunk), let page = try content(trunk) else { return }
            free.insert(trunk)
            let count = Int(Self.number(page, 4))
            guard count <= usableSize / 4 - 2 else { return }
            for index in 0..<count {
                let number = Self.number(page, 8 + 4 * index)
                // A file that was cut off has lost some.
                guard view.holds(number) else { continue }
                guard take(number) else { return }
                free.insert(number)
            }
            trunk = Self.number(page, 0)
        }
        knowsFreePages = true
    }

    /// The limit of a tree's depth; SQLite's own is 20.
    private static let deepest = 32

    // MARK: - Along the trees

    /// Passes all rows of the tree below `root`, in order, and returns where pages are missing.
    ///
    /// `isTable` is whether its entries have row ids, or nil when that is not known.
    func walk(
        _ root: UInt32, isTable: Bool? = nil, _ row: (Row) throws -> Void
    ) throws -> [Gap] {
        var gaps: [Gap] = []
        try walk(root, isTable, Gap(), depth: 0, &gaps, row)
        return gaps
    }

    private func walk(
        _ number: UInt32, _ isTable: Bool?, _ range: Gap, depth: Int, _ gaps: inout [Gap],
        _ row: (Row) throws -> Void
    ) throws {
        guard depth < Self.deepest, !disputed.contains(number), !read.contains(number),
            !isUncommitted(number), let page = try page(number),
            page.header.kind.isTable == isTable ?? page.header.kind.isTable,
            belongs(page, in: range)
        else {
            gaps.append(range)
            return
        }
        read.insert(number)
        let kind = page.header.kind
        var above = range.above
        for index in 0..<page.header.cellCount {
            guard let cell = page.cell(index) else {
                if kind.isInterior { gaps.append(Gap(above: above, upTo: range.upTo)) }
                if kind != .tableInterior { try row(Row(rowID: nil, values: nil)) }
                continue
            }
            if let child = cell.leftChild {
                try walk(
                    child, kind.isTable, Gap(above: above, upTo: cell.rowID ?? range.upTo),
                    depth: depth + 1, &gaps, row)
                above = cell.rowID ?? above
            }
            if kind != .tableInterior {
                try row(
                    self.row(cell, on: number) { !disputed.contains($0) && claimed.contains($0) })
            }
        }
        if let child = page.rightChild {
            try walk(
                child, kind.isTable, Gap(above: above, upTo: range.upTo), depth: depth + 1, &gaps,
                row)
        }
    }

    /// Returns whether the row ids of a page are in order, and in the range that its parent names.
    ///
    /// An older page, which a lost write or an attacker has left in its place, may be another
    /// table's.
    private func belongs(_ page: BTreePage, in range: Gap) -> Bool {
        guard page.header.kind.isTable else { return true }
        let rowIDs = (0..<page.header.cellCount).compactMap { page.cell($0)?.rowID }
        return range.holds(rowIDs) && zip(rowIDs, rowIDs.dropFirst()).allSatisfy { $0 < $1 }
    }

    /// Reads a record to its end; `isOurs` says which pages can be its own.
    private func row(
        _ cell: BTreePage.Cell, on page: UInt32, isInTree: Bool = true, _ isOurs: (UInt32) -> Bool
    ) throws -> Row {
        let lost = Row(rowID: cell.rowID, values: nil)
        var record = Array(cell.local)
        var next = cell.overflow
        var chain: [UInt32] = []
        while let number = next {
            guard record.count < cell.payloadSize, isOurs(number),
                isUncommitted(number) == isUncommitted(page), let page = try content(number)
            else { return lost }
            chain.append(number)
            let count = min(usableSize - 4, cell.payloadSize - record.count)
            record += page[4..<(4 + count)]
            next = Self.next(page)
        }
        guard record.count == cell.payloadSize, let values = RecordReader.values(record) else {
            return lost
        }
        // The pages of an orphan's record may be the next orphan.
        if isInTree { for number in chain { read.insert(number) } }
        let isCommitted = unfinished.map { !([page] + chain).contains(where: $0.mayHaveChanged) }
        return Row(rowID: cell.rowID, values: values, isCommitted: isCommitted ?? true)
    }

    /// Returns the page in which a long record continues after this one.
    private static func next(_ page: [UInt8]) -> UInt32? {
        let next = number(page, 0)
        return next == 0 ? nil : next
    }

    // MARK: - Outside of the trees

    /// Passes the rows of tree pages to which no tree leads: of leaves, and of all pages of tables
    /// without row ids.
    ///
    /// `body` returns whether they are dealt with. What such a page says of its overflow pages may
    /// be long out of date, so a row is read only when no other row claims one of them.
    func orphans(_ body: (UInt32, BTreePage.Kind, [Row]) throws -> Bool) throws {
        var taken = PageSet()
        var shared = PageSet()
        try orphanPages { orphan, page in
            guard !claimed.contains(orphan) else { return }
            for index in 0..<page.header.cellCount {
                var next = page.cell(index)?.overflow
                while let number = next, view.holds(number), !claimed.contains(number) {
                    guard taken.insert(number) else {
                        shared.insert(number)
                        break
                    }
                    next = try content(number).flatMap(Self.next)
                }
            }
        }
        try orphanPages { orphan, page in
            // Below a damaged page nothing was claimed; below one that did not belong where it was,
            // everything was.
            let isClaimed = claimed.contains(orphan)
            let rows = try (0..<page.header.cellCount).map { index -> Row in
                guard let cell = page.cell(index) else { return Row(rowID: nil, values: nil) }
                return try row(cell, on: orphan, isInTree: false) {
                    !read.contains($0) && claimed.contains($0) == isClaimed
                        && !(isClaimed ? disputed : shared).contains($0)
                }
            }
            if !rows.isEmpty, try body(orphan, page.header.kind, rows) { read.insert(orphan) }
        }
    }

    private func orphanPages(_ body: (UInt32, BTreePage) throws -> Void) throws {
        for number in StoredPages(view, among: view.heldPages(of: view.pageCount)) {
            guard !read.contains(number), !free.contains(number) || disputed.contains(number),
                let page = try page(number), page.header.kind != .tableInterior
            else { continue }
            try body(number, page)
        }
    }
}
