/// What is proved to be damaged in a write-ahead log: commits that were in it, and that no
/// connection finds any more.
///
/// A connection reads a log up to the first frame that is not whole. What follows is lost for it,
/// although each page there may be as it was written. A power cut leaves such a frame as well, but
/// only in what was not yet synced: so it counts as damage when a later transaction follows, which
/// with `synchronous = .full` begins after the sync of the one before it, or when the file holds a
/// page of what follows, which is moved there after a sync. With `synchronous = .normal` a power
/// cut can leave what looks like the first of the two.
public struct LogDamage: Sendable, Equatable, CustomStringConvertible {
    /// The number of the first frame (the first is 1) that is not as it was written; nil for the
    /// log's header.
    public let firstDamagedFrame: Int?
    /// How many whole frames follow it and are not read.
    public let unreadFrames: Int
    /// How many of them end a transaction.
    public let unreadCommits: Int
    /// The pages (the first is 1) in those frames.
    public let pages: [Int]
    /// Whether the file itself holds all that those frames do: then nothing of them is lost.
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
            ? "what they hold is in the file already"
            : mixesStates
                ? "the file holds a part of them, so that what is read mixes two states"
                : "what is read is the state before them"
        return "the log is damaged \(place): \(commits) in \(unreadFrames) whole frames after it "
            + "are not read; \(loss)"
    }
}

/// What is proved to be damaged in a rollback journal that a crash has left.
///
/// The engine would play it back in part, or not at all, and end with a file that mixes two states.
/// Therefore `open` refuses.
public struct JournalDamage: Sendable, Equatable, CustomStringConvertible {
    /// What is not as it was written.
    public let reason: String
    /// Whether this is damage only if the journal was synced before its header counted, as
    /// `synchronous = .full` does: with `.normal`, a power cut can leave the same, with a file that
    /// was not yet written to.
    public let isSureWithFullOnly: Bool

    /// One line for people.
    public var description: String {
        "the journal that a crash has left is damaged: \(reason)"
    }
}

extension LogDamage {
    /// What `open` throws where what would be read mixes two states.
    func openingError(_ path: String) -> SecureStorageError {
        .openFailed(
            code: ResultCode.corrupt.rawValue,
            message: "cannot open \"\(path)\": \(description); nothing was changed. Restore the "
                + "file from a backup, or salvage what can be read")
    }
}

extension JournalDamage {
    /// What `open` throws before the engine plays the journal back.
    func openingError(_ path: String) -> SecureStorageError {
        let hint =
            isSureWithFullOnly
            ? "; a file that is written with synchronous = .normal has to be opened so" : ""
        return .openFailed(
            code: ResultCode.corrupt.rawValue,
            message: "cannot open \"\(path)\": \(description); played back, it would leave a mix "
                + "of two states, so nothing was changed. Restore the file from a backup, or salvage "
                + "what can be read\(hint)")
    }
}
