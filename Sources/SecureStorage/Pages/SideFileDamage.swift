/// Proven damage in a write-ahead log: it held commits that connections no longer find.
///
/// A connection reads a log up to the first frame that is not whole. It never reads what follows,
/// although each page there may be as it was written. A power cut leaves such a frame as well, but
/// only in the part that was not yet synced. So it counts as damage when a later transaction
/// follows, which with `synchronous = .full` begins after the sync of the one before it, or when
/// the file holds a page of what follows, which is moved there after a sync. With
/// `synchronous = .normal` or `groupsWrites` a power cut can leave what looks like the first of the
/// two.
public struct LogDamage: Sendable, Equatable, CustomStringConvertible {
    /// The number of the first frame (the first is 1) that is not as it was written; nil for the
    /// log's header.
    public let firstDamagedFrame: Int?
    /// The number of whole frames that follow it and are not read.
    public let unreadFrames: Int
    /// The number of these frames that end a transaction.
    public let unreadCommits: Int
    /// The pages (the first is 1) in those frames.
    public let pages: [Int]
    /// Whether the file itself holds everything that those frames do: then nothing of them is lost.
    public let isAllInFile: Bool
    /// Whether the file holds a part of what follows: then a reader finds two states mixed, and
    /// `open` refuses.
    public let mixesStates: Bool

    /// One line for people.
    public var description: String {
        let place = firstDamagedFrame.map { "in frame \($0)" } ?? "in its header"
        let commits = "\(unreadCommits) \(unreadCommits == 1 ? "commit" : "commits")"
        let loss =
            isAllInFile
            ? "their contents are already in the file"
            : mixesStates
                ? "the file contains part of them, so readers see a mix of two states"
                : "readers see the state before them"
        return "the log is damaged \(place): \(commits) in \(unreadFrames) whole frames after it "
            + "are not read; \(loss)"
    }
}

/// Proven damage in a rollback journal that a crash has left.
///
/// The engine would play it back in part, or not at all, and end with a file that mixes two states.
/// Therefore `open` refuses.
public struct JournalDamage: Sendable, Equatable, CustomStringConvertible {
    /// A description of the part that is not as it was written.
    public let reason: String
    /// Whether this is damage only if the journal was synced before its header counted.
    ///
    /// That is so with `synchronous = .full`: with `.normal`, a power cut can leave the same, with
    /// a file that was not yet written to.
    public let isSureWithFullOnly: Bool

    /// One line for people.
    public var description: String {
        "the journal that a crash left behind is damaged: \(reason)"
    }
}

extension LogDamage {
    /// Returns the error that `open` throws where a reader would find two states mixed.
    func openingError(_ path: String) -> SecureStorageError {
        .openFailed(
            code: ResultCode.corrupt.rawValue,
            message: "cannot open \"\(path)\": \(description); nothing was changed. Restore the "
                + "file from a backup, or salvage what can be read")
    }
}

extension JournalDamage {
    /// Returns the error that `open` throws before the engine plays the journal back.
    func openingError(_ path: String) -> SecureStorageError {
        let hint =
            isSureWithFullOnly
            ? "; a file that is written with synchronous = .normal must be opened with it" : ""
        return .openFailed(
            code: ResultCode.corrupt.rawValue,
            message: "cannot open \"\(path)\": \(description); played back, it would leave a mix "
                + "of two states, so nothing was changed. Restore the file from a backup, or salvage "
                + "what can be read\(hint)")
    }
}
