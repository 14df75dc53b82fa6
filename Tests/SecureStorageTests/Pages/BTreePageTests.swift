import Foundation
import TestSupport
import Testing

@testable import SecureStorage

/// Pages of trees as SQLite writes them, and bytes that only look like such pages.
struct BTreePageTests {
    /// Returns the pages of a file that `sql` has made.
    private func pages(_ sql: String) throws -> DecryptedPages {
        let database = try TemporaryDatabase()
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements(sql)
        db.close()
        return try DecryptedPages(database)
    }

    // MARK: - Records

    // 4016 usable bytes: a row keeps up to 3981 of its bytes in the page, an entry of an index 981;
    // a page of a longer one's rest has 4012.
    @Test(arguments: [
        ("id INTEGER PRIMARY KEY, x BLOB)", 3981), ("x BLOB PRIMARY KEY) WITHOUT ROWID", 981),
    ])
    func `records of each length around the limits of a page are found, wherever they continue`(
        _ table: String, _ most: Int
    ) throws {
        let lengths = [most, most + 4012, most + 2 * 4012].flatMap { ($0 - 8)...($0 + 4) }
        // In order, so that no page becomes free again.
        let rows = lengths.enumerated().map {
            String(format: "(x'%02x%@')", $0, String(repeating: "a5", count: $1 - 1))
        }
        let pages = try pages(
            "CREATE TABLE t (\(table); INSERT INTO t (x) VALUES \(rows.joined(separator: ","))")
        check(pages.usableSize, equals: 4016)
        var found: [Int] = []
        var overflow: Set<UInt32> = []
        var trees: [BTreePage] = []
        for number in 2...pages.all.count where !overflow.contains(UInt32(number)) {
            guard let page = pages.tree(number), page.isTiled else { continue }
            trees.append(page)
            for index in 0..<page.header.cellCount {
                let cell = try require(page.cell(index))
                guard page.header.kind != .tableInterior else { continue }
                var payload = Array(cell.local)
                var next = cell.overflow ?? 0
                while next > 0 {
                    overflow.insert(next)
                    let rest = pages[Int(next)]
                    payload += rest[4..<min(4016, 4 + cell.payloadSize - payload.count)]
                    next = rest[..<4].reduce(0) { $0 << 8 | UInt32($1) }
                }
                check(payload.count, equals: cell.payloadSize)
                guard case .blob(let bytes) = RecordReader.values(payload)?.last else {
                    Issue.record("row \(index) of page \(number) cannot be read")
                    continue
                }
                found.append(bytes.count)
            }
        }
        check(found.sorted(), equals: lengths)
        check(trees.contains { $0.header.kind.isInterior })
        check(trees.contains { !$0.header.kind.isInterior })
        check(1 + trees.count + overflow.count, equals: pages.all.count)
    }

    @Test func `a record of fewer than four bytes has the place of a free block`() throws {
        let page = try pages(
            "CREATE TABLE t (x PRIMARY KEY) WITHOUT ROWID; INSERT INTO t VALUES (0), (1), ('')")
        let tree = try require(page.tree(2))
        let cells = try (0..<3).map { try require(tree.cell($0)) }
        check(cells.map(\.local.count), equals: [2, 2, 2])
        check(cells.map(\.place.count), equals: [4, 4, 4])
        check(tree.isTiled)
    }

    @Test func `a gap has the row ids above its first one, up to its last one`() {
        let gap = TreeReader.Gap(above: 5, upTo: 7)
        check([5, 6, 7, 8].map { gap.holds([$0]) }, equals: [false, true, true, false])
        check(gap.holds([]))
        check(!gap.holds([6, 8]))
        check(TreeReader.Gap().holds([.min, .max]))
    }

    // MARK: - The whole page

    /// A page with a free block, and the offset of its header.
    private func pageWithFreeBlock() throws -> (page: [UInt8], usableSize: Int) {
        let pages = try pages(
            """
            CREATE TABLE t (x);
            INSERT INTO t VALUES ('one'), (randomblob(100)), ('three'), ('four');
            DELETE FROM t WHERE rowid = 2; INSERT INTO t VALUES (randomblob(99));
            INSERT INTO t VALUES ('six'); DELETE FROM t WHERE rowid = 3;
            """)
        return (pages[2], pages.usableSize)
    }

    @Test func `a page is tiled as SQLite left it, and not if one of its numbers is another`()
        throws
    {
        let (page, usableSize) = try pageWithFreeBlock()
        func isTiled(_ change: (inout [UInt8]) -> Void) -> Bool {
            var page = page
            change(&page)
            return BTreePage(page, number: 2, usableSize: usableSize)?.isTiled ?? false
        }
        check(isTiled { _ in })
        let freeBlock = Int(page[1]) << 8 | Int(page[2])
        check(freeBlock > 0)
        // The kind, the first free block, the number of cells, where they begin, the fragments, the
        // first cell's place, and the length of the free block.
        for (offset, name) in [
            (0, "kind"), (2, "free block"), (4, "count"), (6, "start"), (7, "fragments"),
            (9, "first cell"), (freeBlock + 1, "next block"), (freeBlock + 3, "block's length"),
        ] {
            check(!isTiled { $0[offset] &+= 1 }, "\(name) + 1")
            check(!isTiled { $0[offset] &-= 1 }, "\(name) - 1")
        }
        check(!isTiled { $0[1...2] = [0, 0] })
        check(!isTiled { $0[3...4] = [0, 0] })
        // A block that is its own successor.
        check(!isTiled { $0[freeBlock...(freeBlock + 1)] = page[1...2] })
    }

    @Test(
        arguments: [
            // Pointers up to the cells, cells up to the end; one too many of each.
            (2, 12, 480, true), (2, 11, 480, false), (0, 480, 480, true), (0, 481, 480, false),
            (0, 8, 480, true), (0, 7, 480, false), (0, 0, 480, false),
        ] as [(UInt8, Int, Int, Bool)])
    func `a page has room for its pointers, and its cells for themselves`(
        _ cells: UInt8, _ start: Int, _ usableSize: Int, _ isPage: Bool
    ) {
        var page = [UInt8](repeating: 0, count: 512)
        page[..<8] = [13, 0, 0, 0, cells, UInt8(start >> 8), UInt8(start & 255), 0]
        let found = BTreePage(page, number: 2, usableSize: usableSize)
        check(found != nil, equals: isPage)
    }

    @Test func `only the four kinds of pages are any, and page 1 begins with the file's header`() {
        let kinds = (0...255).filter { kind in
            let page = [UInt8(kind), 0, 0, 0, 0, 1, 0, 0] + [UInt8](repeating: 0, count: 504)
            return BTreePage(page, number: 2, usableSize: 480) != nil
        }
        check(kinds, equals: [2, 5, 10, 13])
        let page = [UInt8](repeating: 1, count: 100) + [13, 0, 0, 0, 0, 1, 224, 0]
        let first = page + [UInt8](repeating: 0, count: 404)
        check(BTreePage(first, number: 1, usableSize: 480)?.header.contentStart, equals: 480)
        check(BTreePage(first, number: 2, usableSize: 480) == nil)
        // No room for a header.
        check(BTreePage.Header(Array(first[..<112]), at: 100) != nil)
        check(BTreePage.Header(Array(first[..<111]), at: 100) == nil)
    }

    // MARK: - Cells

    /// Returns the cell of a page that has only this one.
    private func cell(_ bytes: [UInt8], at place: Int, kind: BTreePage.Kind) -> BTreePage.Cell? {
        var page = [UInt8](repeating: 0, count: 512)
        let header = kind.isInterior ? 12 : 8
        page[..<8] = [kind.rawValue, 0, 0, 0, 1, 1, 0, 0]
        page[header...(header + 1)] = [UInt8(place >> 8), UInt8(place & 255)]
        page.replaceSubrange(place..<(place + bytes.count), with: bytes)
        return BTreePage(page, number: 2, usableSize: 480)?.cell(0)
    }

    // The last one is a row of 1000 bytes, of which 48 are in the page.
    @Test(
        arguments: [
            (.tableLeaf, [3, 1, 2, 13, 65]), (.indexLeaf, [3, 2, 13, 65]),
            (.tableInterior, [0, 0, 0, 9, 0x81, 0]), (.indexInterior, [0, 0, 0, 9, 3, 2, 13, 65]),
            (.tableLeaf, [0x87, 0x68, 1] + [UInt8](repeating: 7, count: 48) + [0, 0, 0, 5]),
        ] as [(BTreePage.Kind, [UInt8])])
    func `a cell ends at the end of its page or before it`(_ kind: BTreePage.Kind, _ bytes: [UInt8])
        throws
    {
        let last = 480 - bytes.count
        let cell = try require(cell(bytes, at: last, kind: kind))
        check(cell.place, equals: last..<480)
        check(cell.leftChild, equals: kind.isInterior ? 9 : nil)
        check(cell.rowID, equals: kind == .tableLeaf ? 1 : kind == .tableInterior ? 128 : nil)
        check(cell.overflow, equals: bytes.count > 8 ? 5 : nil)
        check(cell.payloadSize, equals: bytes.count > 8 ? 1000 : kind == .tableInterior ? 0 : 3)
        for further in 1...min(bytes.count, 32) {
            let found = self.cell(bytes, at: last + further, kind: kind)
            check(found == nil, "\(further) bytes further")
        }
    }

    @Test(
        arguments: [
            // 2³¹ - 1, 2³¹, -1 and the greatest number.
            ([0x87, 0xff, 0xff, 0xff, 0x7f], 2_147_483_647), ([0x88, 0x80, 0x80, 0x80, 0], nil),
            ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], nil),
            ([0xbf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], nil),
        ] as [([UInt8], Int?)])
    func `a payload is as long as SQLite's can be`(_ length: [UInt8], _ size: Int?) {
        let bytes = length + [1] + [UInt8](repeating: 0, count: 200)
        check(cell(bytes, at: 200, kind: .tableLeaf)?.payloadSize, equals: size)
    }

    @Test func `a page has no other cells than it says`() throws {
        let (page, usableSize) = try pageWithFreeBlock()
        let tree = try require(BTreePage(page, number: 2, usableSize: usableSize))
        check(tree.header.cellCount, equals: 4)
        check(tree.cell(3) != nil && tree.cell(4) == nil)
        check(tree.rightChild == nil)
    }
}
