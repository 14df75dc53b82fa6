internal import Foundation

/// A database's pages as a connection opened now would see them.
///
/// They are those of the file, and over them those of the log, or the originals in the journal of a
/// transaction that a crash has interrupted. The view is of one moment: a process that is writing
/// may move pages from one to the other.
struct PageView: Sendable {
    let file: RawFile
    let pageSize: Int
    /// The sidecar file that was found, and counts.
    let source: Source
    /// The number of whole pages of the database.
    let pageCount: Int
    /// Whether frames follow in the log that do not count; `LogExamination` determines what they
    /// are.
    let isLogFollowed: Bool
    private let overlay: RawFile?
    private let offsets: [UInt32: Int]
    /// The pages of the log or the journal, in order.
    private let overlaid: [UInt32]
    private let moment: Moment

    enum Source: Equatable, Sendable {
        case fileOnly
        /// The number of committed pages in the log.
        case log(pages: Int)
        /// The number of original pages in the journal.
        case journal(pages: Int)
    }

    /// A stamp that differs when pages were moved between the file and its sidecar files.
    ///
    /// Commits that only make the log longer move nothing.
    private struct Moment: Equatable {
        let size: Int
        let modified: ModificationTime
        let headers: [[UInt8]?]

        init(_ file: RawFile) throws {
            modified = ModificationTime(file)
            size = try file.size()
            headers = try ["-wal", "-journal"].map { suffix in
                try RawFile(ifPresent: file.path + suffix)?.bytes(at: 0, count: 28)
            }
        }
    }

    init(_ path: String, pageSize: Int) throws {
        file = try RawFile(path)
        moment = try Moment(file)
        self.pageSize = pageSize
        let beside = try Beside(path, pageSize: pageSize)
        overlay = beside.content
        offsets = beside.offsets
        overlaid = offsets.keys.filter { (1...Self.lastPossiblePage).contains($0) }.sorted()
        source = beside.source
        pageCount = beside.pageCount ?? moment.size / pageSize
        isLogFollowed = beside.isLogFollowed
    }

    /// The sidecar file that counts; none by default.
    private struct Beside {
        private(set) var content: RawFile?
        private(set) var offsets: [UInt32: Int] = [:]
        private(set) var source = Source.fileOnly
        private(set) var pageCount: Int?
        private(set) var isLogFollowed = false

        init(_ path: String, pageSize: Int) throws {
            if let journal = try RollbackJournal(of: path, pageSize: pageSize),
                journal.header != nil
            {
                content = journal.content
                offsets = journal.offsets
                source = .journal(pages: offsets.count)
                pageCount = journal.pageCount
                return
            }
            guard let file = try RawFile(ifPresent: path + "-wal") else { return }
            let log = try WriteAheadLog(file, pageSize: pageSize)
            isLogFollowed = try log.isFollowed(in: file, pageSize: pageSize)
            guard let pages = log.pageCount else { return }
            content = file
            offsets = log.offsets
            source = .log(pages: offsets.count)
            pageCount = pages
        }
    }

    /// Returns a view of the same file as it is now.
    func again() throws -> PageView { try PageView(file.path, pageSize: pageSize) }

    /// Whether nothing was moved since this view was made: then it is accurate.
    func isCurrent() throws -> Bool {
        try moment.modified.isSettled && Moment(file) == moment
    }

    /// The length of the file itself, in bytes.
    var fileSize: Int { moment.size }

    /// The bytes after the last whole page of the file.
    var surplusBytes: Int { fileSize % pageSize }

    /// SQLite's own limit; a page number up to it can be incremented without overflow.
    private static let lastPossiblePage: UInt32 = .max - 1

    /// Returns those of the first `count` pages that exist, in order.
    ///
    /// It does not count up to `count`: in a log or a journal anyone can write any number.
    func heldPages(of count: Int) -> PageNumbers {
        // Pages after the end that a journal names are cut off when it is played back.
        let count = if case .journal = source { min(count, pageCount) } else { count }
        let last = UInt32(clamping: min(max(count, 0), Int(Self.lastPossiblePage)))
        let own = UInt32(clamping: min(Int(last), fileSize / pageSize))
        let start = overlaid.index(of: own + 1, from: 0)
        let end = overlaid.index(of: last + 1, from: start)
        return PageNumbers(own: own, others: overlaid[start..<end])
    }

    /// Returns whether a page is in the file, the log or the journal.
    func holds(_ number: UInt32) -> Bool {
        number > 0 && (Int(number) <= fileSize / pageSize || offsets[number] != nil)
    }

    /// Whether a page is read from the log or the journal.
    func isOverlaid(_ number: UInt32) -> Bool { offsets[number] != nil }

    /// Returns the next pages in a row, at `number` or after it, of which something is stored; nil
    /// for none.
    func storedPages(from number: UInt32) -> Range<UInt32>? {
        let next = overlaid.index(of: number, from: 0)
        let other = next < overlaid.count ? overlaid[next] : nil
        guard let bytes = file.storedBytes(from: (Int(number) - 1) * pageSize) else {
            return other.map { $0..<($0 + 1) }
        }
        let first = UInt32(clamping: max(bytes.lowerBound / pageSize + 1, Int(number)))
        if let other, other < first { return other..<(other + 1) }
        guard first <= Self.lastPossiblePage else { return nil }
        let end = UInt32(clamping: (bytes.upperBound + pageSize - 1) / pageSize + 1)
        return first..<max(end, first)
    }

    /// Fills `buffer`, of the size of a page; returns false when the page is missing.
    func read(_ number: UInt32, into buffer: UnsafeMutableRawBufferPointer) throws -> Bool {
        if let overlay, let offset = offsets[number] {
            return try overlay.read(into: buffer, at: offset) == pageSize
        }
        guard number > 0 else { return false }
        return try file.read(into: buffer, at: (Int(number) - 1) * pageSize) == pageSize
    }

    /// Returns a page; nil when it is missing.
    func page(_ number: UInt32) throws -> [UInt8]? {
        var page = [UInt8](repeating: 0, count: pageSize)
        return try page.withUnsafeMutableBytes { try read(number, into: $0) } ? page : nil
    }
}
