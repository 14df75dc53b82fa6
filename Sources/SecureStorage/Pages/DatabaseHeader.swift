internal import Foundation

/// The facts about the whole database from the first page or, when that page is damaged, as
/// inferred from the others.
struct DatabaseHeader {
    /// The bytes at the end of each page that SQLite leaves free: at least the cipher's.
    ///
    /// SQLCipher leaves 80 whatever the HMAC, unless its settings were process-wide
    /// (`PRAGMA cipher_default_hmac_algorithm`) or those of another version: only byte 20 of the
    /// first page is reliable.
    let reservedBytes: Int
    let encoding: TextEncoding
    /// `PRAGMA user_version` and `PRAGMA application_id`; 0 when the first page is damaged.
    var userVersion: Int32 = 0
    var applicationID: Int32 = 0
    /// `PRAGMA auto_vacuum`: 0 for none, 1 for full, 2 for incremental.
    var autoVacuum = 0
    /// The first page of the list of free pages; nil when the first page is damaged, 0 for none.
    var firstFreePage: UInt32?
    /// A remark for people on values that could not be read, but were inferred from other pages or
    /// assumed.
    var remark: String?

    /// Reads the decrypted first page; nil when its values are impossible.
    init?(_ page: [UInt8], _ format: PageFormat) {
        func number(_ offset: Int) -> UInt32 {
            page[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard page.count == format.pageSize, Self.hasSizes(page, of: format),
            // 0 until the first table is created.
            let encoding = TextEncoding(rawValue: UInt8(clamping: max(number(56), 1)))
        else { return nil }
        reservedBytes = Int(page[20])
        self.encoding = encoding
        userVersion = Int32(bitPattern: number(60))
        applicationID = Int32(bitPattern: number(68))
        autoVacuum = number(52) == 0 ? 0 : number(64) == 0 ? 1 : 2
        firstFreePage = number(32)
    }

    /// Infers what it can from the decrypted pages of trees; `pages` returns the next one.
    init(from pages: () throws -> [UInt8]?, _ format: PageFormat) rethrows {
        var votes: [Int: Int] = [:]
        var texts = TextVotes()
        var looked = 0
        while looked < 1000, let page = try pages() {
            func tiles(_ reserve: Int) -> Bool {
                BTreePage(page, number: 0, usableSize: format.pageSize - reserve)?.isTiled == true
            }
            let usual = Self.usualReserves(format).filter(tiles)
            let found = usual.isEmpty ? Self.possibleReserves(format).filter(tiles) : usual
            for reserve in found { votes[reserve, default: 0] += 1 }
            guard let reserve = found.first,
                let tree = BTreePage(page, number: 0, usableSize: format.pageSize - reserve)
            else { continue }
            texts.add(tree)
            looked += 1
        }
        // Ties occur for empty files, where SQLCipher's own number is the best guess.
        let best = votes.max { ($0.value, $1.key) < ($1.value, $0.key) }
        let isPlain = best.map { votes[80] == $0.value } ?? true
        reservedBytes = isPlain ? max(80, format.trailerBytes) : best?.key ?? 80
        encoding = texts.encoding
        remark =
            "page 1 cannot be read: the \(reservedBytes) reserved bytes of each page and the text encoding "
            + "\(encoding.name) were inferred from the other pages; user_version and application_id are lost"
    }

    /// Returns whether a first page with this decrypted beginning has pages of that format's size,
    /// and leaves their ends to the cipher.
    static func hasSizes(_ start: [UInt8], of format: PageFormat) -> Bool {
        PlainHeader(start).pageSize == format.pageSize
            && possibleReserves(format).contains(Int(start[20]))
    }

    /// Returns the numbers of bytes that SQLCipher and SQLite can leave free.
    private static func possibleReserves(_ format: PageFormat) -> ClosedRange<Int> {
        // SQLite uses no fewer than 480 bytes of a page.
        format.trailerBytes...max(min(255, format.pageSize - 480), format.trailerBytes)
    }

    /// Returns the numbers of bytes that SQLCipher leaves free by its defaults, with this HMAC.
    static func usualReserves(_ format: PageFormat) -> [Int] {
        [max(80, format.trailerBytes), format.trailerBytes]
    }

    /// Infers the encoding of texts from their bytes.
    private struct TextVotes {
        private var even = 0
        private var odd = 0
        /// Texts with more control characters at even or at odd offsets: in UTF-16, half of the
        /// bytes of many scripts are some, as NULs are of ASCII.
        private var littleEndian = 0
        private var bigEndian = 0
        private var invalid = 0

        mutating func add(_ page: BTreePage) {
            for index in 0..<page.header.cellCount {
                guard let cell = page.cell(index), cell.overflow == nil,
                    page.header.kind != .tableInterior,
                    let values = RecordReader.values(Array(cell.local))
                else { continue }
                for case .text(let bytes) in values where !bytes.isEmpty { add(bytes) }
            }
        }

        private mutating func add(_ bytes: ArraySlice<UInt8>) {
            guard bytes.count % 2 == 0 else { return odd += 1 }
            even += 1
            var controls = (first: 0, second: 0)
            for (offset, byte) in bytes.enumerated() where byte < 0x20 {
                // Tabs and ends of lines are usual in any text.
                if [9, 10, 13].contains(byte) { continue }
                if offset % 2 == 0 { controls.first += 1 } else { controls.second += 1 }
            }
            if controls.second > controls.first { littleEndian += 1 }
            if controls.first > controls.second { bigEndian += 1 }
            if String(bytes: bytes, encoding: .utf8) == nil { invalid += 1 }
        }

        // A text of an odd number of bytes is not UTF-16. Without one, control characters or bytes
        // that are not UTF-8 decide.
        var encoding: TextEncoding {
            guard odd == 0, littleEndian + bigEndian + invalid > even / 10 else { return .utf8 }
            return bigEndian > littleEndian ? .utf16BigEndian : .utf16LittleEndian
        }
    }
}
