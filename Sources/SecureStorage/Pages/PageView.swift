internal import Foundation

/// The pages of a database as who opens it now would find them: those of its file, and over them those
/// of the log, or the originals in the journal of a transaction that a crash has broken off.
///
/// A picture of the moment: somebody who writes meanwhile may move pages from one to the other.
struct PageView: Sendable {
    let file: RawFile
    let pageSize: Int
    /// What stands beside the file and was looked at.
    let source: Source
    /// Whole pages of the database.
    let pageCount: Int
    /// Whether frames of the log follow that count for nothing; what they are, `LogExamination` finds out.
    private(set) var isLogFollowed = false
    private let overlay: RawFile?
    private let offsets: [UInt32: Int]
    private let moment: Moment

    enum Source: Equatable, Sendable {
        case fileOnly
        /// The number of committed pages in the log.
        case log(pages: Int)
        /// The number of original pages in the journal.
        case journal(pages: Int)
    }

    /// What differs when pages were moved between the file and what stands beside it.
    ///
    /// Commits that only make the log longer move nothing.
    private struct Moment: Equatable {
        let size: Int
        let modified: [Int]
        let headers: [[UInt8]?]

        init(_ file: RawFile) {
            size = file.size
            modified = file.modified
            headers = ["-wal", "-journal"].map { suffix in
                try? RawFile(file.path + suffix).bytes(at: 0, count: 28)
            }
        }
    }

    init(_ path: String, pageSize: Int) throws {
        file = try RawFile(path)
        moment = Moment(file)
        self.pageSize = pageSize
        let ownPages = file.size / pageSize
        if let journal = RollbackJournal(of: path, pageSize: pageSize), journal.header != nil {
            overlay = journal.content
            offsets = journal.offsets
            source = .journal(pages: offsets.count)
            pageCount = journal.pageCount
            return
        }
        if access(path + "-wal", F_OK) == 0 {
            let content: RawFile
            do {
                content = try RawFile(path + "-wal")
            } catch  where access(path + "-wal", F_OK) != 0 {
                // Who wrote it has just moved it into the file.
                (overlay, offsets, source) = (nil, [:], .fileOnly)
                pageCount = file.size / pageSize
                return
            }
            let log = try WriteAheadLog(content, pageSize: pageSize)
            isLogFollowed = try log.isFollowed(in: content, pageSize: pageSize)
            if let pages = log.pageCount {
                overlay = content
                offsets = log.offsets
                source = .log(pages: offsets.count)
                pageCount = pages
                return
            }
        }
        overlay = nil
        offsets = [:]
        source = .fileOnly
        pageCount = ownPages
    }

    /// The same file as it is now.
    func again() throws -> PageView { try PageView(file.path, pageSize: pageSize) }

    /// Whether nothing was moved since this picture was made: then what it shows is so.
    ///
    /// A file that was written to a moment ago may have been twice: the system's times go by ticks of some
    /// milliseconds.
    var isCurrent: Bool {
        guard Moment(file) == moment, let seconds = moment.modified.first else { return false }
        let modified = Double(seconds) + Double(moment.modified[1]) / 1e9
        return Date().timeIntervalSince1970 - modified > 0.05
    }

    /// Bytes behind the last whole page of the file.
    var surplusBytes: Int { file.size % pageSize }

    /// The pages, of the first `count`, that are there, in order.
    ///
    /// Found without counting up to `count`: in a log or a journal anybody can write any number.
    func heldPages(of count: Int) -> [UInt32] {
        // What is behind the end that a journal names is cut off when it is played back.
        let count = if case .journal = source { min(count, pageCount) } else { count }
        let own = UInt32(clamping: min(count, file.size / pageSize))
        let others = offsets.keys.filter { $0 > own && Int($0) <= count }.sorted()
        return (own > 0 ? Array(1...own) : []) + others
    }

    /// Fills `buffer`, of the size of a page; false when the page is missing.
    func read(_ number: UInt32, into buffer: UnsafeMutableRawBufferPointer) throws -> Bool {
        if let overlay, let offset = offsets[number] {
            return try overlay.read(into: buffer, at: offset) == pageSize
        }
        guard number > 0 else { return false }
        return try file.read(into: buffer, at: (Int(number) - 1) * pageSize) == pageSize
    }

    /// A page; nil when it is missing.
    func page(_ number: UInt32) throws -> [UInt8]? {
        var page = [UInt8](repeating: 0, count: pageSize)
        return try page.withUnsafeMutableBytes { try read(number, into: $0) } ? page : nil
    }
}
