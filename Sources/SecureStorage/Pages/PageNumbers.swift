/// The numbers of the pages that a database holds, in order, without a list of them: a list for a
/// sparse file of a terabyte would use gigabytes.
struct PageNumbers: RandomAccessCollection, Sendable {
    /// The number of whole pages in the file: 1 up to this one.
    let own: UInt32
    /// Pages that only the log or the journal holds, after those of the file.
    let others: ArraySlice<UInt32>

    var startIndex: Int { 0 }
    var endIndex: Int { Int(own) + others.count }

    subscript(index: Int) -> UInt32 {
        index < Int(own) ? UInt32(index + 1) : others[others.startIndex + index - Int(own)]
    }
}

/// A list of page numbers that stays short, and counts what it leaves out.
struct PageList: Equatable, Sendable {
    /// The maximum number of page numbers in a list.
    static let limit = 100_000

    /// The first ones, in the order in which they were added.
    private(set) var numbers: [UInt32] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// Whether all of them are in `numbers`.
    var isComplete: Bool { numbers.count == count }

    mutating func append<Numbers: RandomAccessCollection<UInt32>>(contentsOf new: Numbers) {
        numbers += new.prefix(Self.limit - numbers.count)
        count += new.count
    }
}

/// Those of the held pages that are stored, not in a hole of a sparse file.
struct StoredPages: Sequence, IteratorProtocol {
    private let view: PageView
    private let held: PageNumbers
    private var index = 0
    /// The page after the stored ones that were found last.
    private var end: UInt32 = 0

    init(_ view: PageView, among held: PageNumbers) {
        self.view = view
        self.held = held
    }

    mutating func next() -> UInt32? {
        guard index < held.count else { return nil }
        if held[index] >= end {
            guard let stored = view.storedPages(from: held[index]) else {
                index = held.count
                return nil
            }
            index = held.index(of: stored.lowerBound, from: index)
            end = stored.upperBound
            guard index < held.count else { return nil }
        }
        defer { index += 1 }
        return held[index]
    }
}

extension RandomAccessCollection where Element == UInt32, Index == Int {
    /// Returns the index of the first number, at `start` or after it, that is not below `number`.
    func index(of number: UInt32, from start: Int) -> Int {
        var (low, high) = (start, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
