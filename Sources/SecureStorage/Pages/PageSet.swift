/// A set of page numbers: a bit for each page, in blocks that exist only where one is set.
///
/// Memory grows with the pages that are in the set, not with the numbers that a file names.
struct PageSet {
    private var blocks: [UInt32: [UInt64]] = [:]
    private static let pagesPerBlock: UInt32 = 4096

    func contains(_ number: UInt32) -> Bool {
        let (block, word, bit) = Self.place(of: number)
        return blocks[block].map { $0[word] & bit != 0 } ?? false
    }

    /// Inserts a page and returns whether it is new to the set.
    @discardableResult
    mutating func insert(_ number: UInt32) -> Bool {
        let (block, word, bit) = Self.place(of: number)
        let words = Int(Self.pagesPerBlock / 64)
        return { (bits: inout [UInt64]) in
            defer { bits[word] |= bit }
            return bits[word] & bit == 0
        }(&blocks[block, default: [UInt64](repeating: 0, count: words)])
    }

    private static func place(of number: UInt32) -> (block: UInt32, word: Int, bit: UInt64) {
        let index = number % pagesPerBlock
        return (number / pagesPerBlock, Int(index / 64), 1 << UInt64(index % 64))
    }
}
