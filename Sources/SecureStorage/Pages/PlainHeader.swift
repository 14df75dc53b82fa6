/// The first page of a file, read as that of a plain SQLite file.
///
/// The fields are those of [the database
/// header](https://sqlite.org/fileformat2.html#the_database_header).
struct PlainHeader {
    private let page: [UInt8]

    init(_ page: [UInt8]) { self.page = page }

    /// Whether the file begins with SQLite's magic string.
    var isSQLite: Bool { page.starts(with: "SQLite format 3\0".utf8) }

    /// Whether the rest is readable too: the header's fields have possible values, and the root of
    /// the schema table follows.
    var isReadable: Bool {
        guard isSQLite, page.count >= 512 else { return false }
        return Self.isPageSize(pageSize) && hasFractions && number(at: 44) <= 4
            && number(at: 56) <= 3
            && [BTreePage.Kind.tableLeaf, .tableInterior].contains(
                BTreePage.Header(page, at: 100)?.kind)
    }

    /// Whether the fractions of a page that payloads may take are those that every file has: SQLite
    /// takes no other.
    var hasFractions: Bool { page.count >= 24 && page[21..<24].elementsEqual([64, 32, 32]) }

    /// Whether the engine can read the version of the file format: 1 for a rollback journal, 2 for
    /// a write-ahead log.
    var hasKnownVersion: Bool { page.count >= 20 && (1...2).contains(page[19]) }

    /// Whether pages of a database can have this size: a power of two from 512 to 65536.
    static func isPageSize(_ size: Int) -> Bool {
        (512...65536).contains(size) && size & (size - 1) == 0
    }

    /// Bytes per page, according to the header.
    var pageSize: Int {
        let size = Int(page[16]) << 8 | Int(page[17])
        return size == 1 ? 65536 : size
    }

    /// Pages of the database, according to the header; nil when the header's number is not valid.
    var pageCount: Int? {
        guard page.count >= 100, number(at: 24) == number(at: 92), number(at: 28) > 0 else {
            return nil
        }
        return number(at: 28)
    }

    private func number(at offset: Int) -> Int {
        page[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
    }
}

/// Distinguishes encrypted bytes from others, by how often each value occurs.
enum Randomness {
    /// Returns why these bytes cannot be encrypted ones; nil when they may be.
    ///
    /// Pearson's chi-squared test over the 256 values. Random bytes are above 450 once in 10^12
    /// times; text, images and zeros are far above.
    static func objection(to bytes: [UInt8]) -> String? {
        guard bytes.count >= 512 else { return "it is shorter than any encrypted page" }
        var counts = [Int](repeating: 0, count: 256)
        for byte in bytes { counts[Int(byte)] += 1 }
        let expected = Double(bytes.count) / 256
        let chiSquared = counts.reduce(0.0) {
            $0 + (Double($1) - expected) * (Double($1) - expected) / expected
        }
        return chiSquared > 450 ? "its bytes are not as evenly distributed as encrypted ones" : nil
    }
}
