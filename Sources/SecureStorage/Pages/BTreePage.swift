/// A page of a table or index, as it is laid out in
/// [SQLite's file format](https://sqlite.org/fileformat2.html#b_tree_pages).
struct BTreePage {
    enum Kind: UInt8 {
        case indexInterior = 2
        case tableInterior = 5
        case indexLeaf = 10
        case tableLeaf = 13
    }

    struct Header {
        let kind: Kind
        let cellCount: Int
        /// Where the cells begin.
        let contentStart: Int
        /// Bytes of the header itself.
        var length: Int { isInterior ? 12 : 8 }
        var isInterior: Bool { kind == .indexInterior || kind == .tableInterior }

        /// nil when the bytes at `offset` are no header.
        init?(_ page: [UInt8], at offset: Int) {
            guard offset + 12 <= page.count, let kind = Kind(rawValue: page[offset]) else {
                return nil
            }
            self.kind = kind
            cellCount = Int(page[offset + 3]) << 8 | Int(page[offset + 4])
            let start = Int(page[offset + 5]) << 8 | Int(page[offset + 6])
            contentStart = start == 0 ? 65536 : start
        }

        /// Whether the numbers fit into a page of `usableSize` bytes.
        func isPlausible(in usableSize: Int) -> Bool {
            length + 2 * cellCount <= contentStart && contentStart <= usableSize
        }
    }
}
