/// Counts the pages that a re-key reads and writes, and reports its progress.
final class RekeyPageCounter {
    private let handler: FileProgress.Handler
    var pageCount = 0
    var isCommitted = false
    private var pagesRead = 0
    private var pagesWritten = 0
    /// The error that the handler has thrown, which has ended the re-key.
    private(set) var failure: (any Error)?

    /// Not escaping: the handler is only called in the scope of `run`.
    private init(_ handler: @escaping FileProgress.Handler) { self.handler = handler }

    static func run<R>(
        _ handler: FileProgress.Handler, _ body: (RekeyPageCounter) throws -> R
    ) throws -> R {
        try withoutActuallyEscaping(handler) { try body(RekeyPageCounter($0)) }
    }

    /// The progress so far: each page is read and re-encrypted, and then written to the file.
    private var present: FileProgress {
        FileProgress(
            min(pagesRead, pageCount) + min(pagesWritten, pageCount), of: pageCount * 2)
    }

    /// Counts a page; returns false to end the re-key.
    func tick(isWrite: Bool) -> Bool {
        if isWrite { pagesWritten += 1 } else if !isCommitted { pagesRead += 1 }
        guard failure == nil, (pagesRead + pagesWritten) % 256 == 1 else { return true }
        do {
            try handler(present)
            return true
        } catch {
            // Too late to end it during a write or after the commit.
            guard !isCommitted, !isWrite else { return true }
            failure = error
            return false
        }
    }

    func finish() {
        guard failure == nil else { return }
        try? handler(FileProgress(pageCount * 2, of: pageCount * 2))
    }
}
