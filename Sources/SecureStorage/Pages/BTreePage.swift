/// A page of a table or index, laid out as in [SQLite's file
/// format](https://sqlite.org/fileformat2.html#b_tree_pages).
///
/// Nothing in it is trusted: a value that does not fit is nil.
struct BTreePage {
    enum Kind: UInt8 {
        case indexInterior = 2
        case tableInterior = 5
        case indexLeaf = 10
        case tableLeaf = 13

        var isInterior: Bool { self == .indexInterior || self == .tableInterior }
        var isTable: Bool { self == .tableInterior || self == .tableLeaf }
    }

    struct Header {
        let kind: Kind
        let cellCount: Int
        /// The offset at which the cells begin.
        let contentStart: Int
        /// The length of the header itself, in bytes.
        var length: Int { kind.isInterior ? 12 : 8 }

        /// Reads the header; nil when the bytes at `offset` are not one.
        init?(_ page: [UInt8], at offset: Int) {
            guard offset + 12 <= page.count, let kind = Kind(rawValue: page[offset]) else {
                return nil
            }
            self.kind = kind
            cellCount = Int(page[offset + 3]) << 8 | Int(page[offset + 4])
            // 0 would be 65536, the end of a page of which the cipher uses nothing.
            contentStart = Int(page[offset + 5]) << 8 | Int(page[offset + 6])
        }

        /// Whether the numbers fit into a page of `usableSize` bytes.
        func isPlausible(in usableSize: Int) -> Bool {
            length + 2 * cellCount <= contentStart && contentStart <= usableSize
        }
    }

    /// A row, an entry of an index, or the pointer that leads to one.
    struct Cell {
        /// The page with the entries before this one; in an interior page.
        var leftChild: UInt32?
        /// The row id; in a table.
        var rowID: Int64?
        /// The bytes of the record that are in the page.
        var local: ArraySlice<UInt8> = []
        var payloadSize = 0
        /// The page in which the record continues.
        var overflow: UInt32?
        /// The range of the whole cell in the page.
        var place = 0..<0
    }

    let header: Header
    private let page: [UInt8]
    private let start: Int
    private let usableSize: Int

    /// Reads a decrypted page; nil when it does not belong to a tree.
    init?(_ page: [UInt8], number: UInt32, usableSize: Int) {
        start = number == 1 ? 100 : 0
        guard let header = Header(page, at: start), header.isPlausible(in: usableSize) else {
            return nil
        }
        self.header = header
        self.page = page
        self.usableSize = usableSize
    }

    /// Whether it has cells that, together with the free blocks and the fragments, fill the page to
    /// its end, without a gap and without an overlap.
    ///
    /// SQLite keeps every page this way. Random bytes, and a page read with another usable size
    /// than it was written with, are not expected to pass.
    var isTiled: Bool {
        guard header.cellCount > 0, let free = freeBlocks() else { return false }
        var places = free
        for index in 0..<header.cellCount {
            guard let cell = cell(index) else { return false }
            places.append(cell.place)
        }
        places.sort { $0.lowerBound < $1.lowerBound }
        var end = header.contentStart
        var fragments = 0
        for place in places {
            guard place.lowerBound >= end, place.upperBound <= usableSize else { return false }
            fragments += place.lowerBound - end
            end = place.upperBound
        }
        return fragments + usableSize - end == Int(page[start + 7])
    }

    /// Returns the free blocks; nil when their list is broken.
    private func freeBlocks() -> [Range<Int>]? {
        func number(_ offset: Int) -> Int { Int(page[offset]) << 8 | Int(page[offset + 1]) }
        var blocks: [Range<Int>] = []
        var next = number(start + 1)
        while next != 0 {
            // They are in order, so the list ends.
            guard next >= max(header.contentStart, blocks.last?.upperBound ?? 0),
                next + 4 <= usableSize
            else { return nil }
            let size = number(next + 2)
            guard size >= 4, next + size <= usableSize else { return nil }
            blocks.append(next..<(next + size))
            next = number(next)
        }
        return blocks
    }

    /// Returns where the cell at `index` begins.
    private func position(of index: Int) -> Int? {
        let pointer = start + header.length + 2 * index
        guard index < header.cellCount, pointer + 2 <= usableSize else { return nil }
        return Int(page[pointer]) << 8 | Int(page[pointer + 1])
    }

    /// The last child of an interior page.
    var rightChild: UInt32? { header.kind.isInterior ? number(at: start + 8) : nil }

    /// Returns the cell at `index`; nil when it is broken.
    func cell(_ index: Int) -> Cell? {
        guard let start = position(of: index) else { return nil }
        var position = start
        var cell = Cell()
        if header.kind.isInterior {
            guard let child = number(at: position) else { return nil }
            cell.leftChild = child
            position += 4
        }
        if header.kind == .tableInterior {
            guard let rowID = varint(&position) else { return nil }
            cell.rowID = rowID
            cell.place = start..<position
            return cell
        }
        guard let size = varint(&position), (0...Int64(Int32.max)).contains(size) else {
            return nil
        }
        cell.payloadSize = Int(size)
        if header.kind == .tableLeaf {
            guard let rowID = varint(&position) else { return nil }
            cell.rowID = rowID
        }
        let local = localSize(of: cell.payloadSize)
        guard position + local <= usableSize else { return nil }
        cell.local = page[position..<(position + local)]
        position += local
        if local < cell.payloadSize {
            guard let next = number(at: position) else { return nil }
            cell.overflow = next
            position += 4
        }
        // A shorter cell gets the space that a free block in its place would need.
        cell.place = start..<max(position, start + 4)
        return cell
    }

    /// Returns how many bytes of a payload stay in the page.
    private func localSize(of payload: Int) -> Int {
        let most =
            header.kind.isTable ? usableSize - 35 : (usableSize - 12) * 64 / 255 - 23
        guard payload > most else { return payload }
        let least = (usableSize - 12) * 32 / 255 - 23
        let wanted = least + (payload - least) % (usableSize - 4)
        return wanted <= most ? wanted : least
    }

    private func number(at offset: Int) -> UInt32? {
        guard offset + 4 <= usableSize else { return nil }
        return page[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func varint(_ position: inout Int) -> Int64? {
        RecordReader.varint(page, &position, end: usableSize)
    }
}
