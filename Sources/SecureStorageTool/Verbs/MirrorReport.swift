internal import Foundation
internal import SecureMirror

/// Shows the status of a mirror: as a line that is replaced on a terminal, as lines of a log, or as
/// JSON.
struct MirrorReport {
    let name: String
    let isJSON: Bool
    /// Whether only the end is reported to people.
    let isBrief: Bool
    var isStopping = false
    private let hasLine: Bool
    private var status: DatabaseMirror.Status?
    /// What the log said last.
    private var logged: Phase?
    /// A failure that is logged unless it turns out to be the end.
    private var pending: String?

    private enum Phase: Equatable {
        case complete
        case failing(String)
    }

    private struct Answer: Encodable {
        let name: String
        let state: String
        let storedBytes: Int
        var completeAt: String?
        var behindSince: String?
        var failure: String?
        var nextTry: String?
    }

    init(name: String, isJSON: Bool, isBrief: Bool) {
        self.name = name
        self.isJSON = isJSON
        self.isBrief = isBrief
        hasLine = StatusLine.isPossible && !isJSON
    }

    /// When ``refresh()`` has something to do without a change of the status; nil: never.
    var pause: TimeInterval? { hasLine || pending != nil ? 1 : nil }

    func begin(_ line: String) throws {
        if !isJSON { try acknowledge(line) }
    }

    mutating func show(_ status: DatabaseMirror.Status) throws {
        self.status = status
        if isJSON {
            try write(status, Self.state(of: status))
        } else if hasLine {
            refresh()
        } else if !isBrief {
            try log(status)
        }
    }

    /// Reports that all is in the store, as the last thing.
    func stored(_ status: DatabaseMirror.Status) throws {
        end()
        guard !isJSON else { return try write(status, "stored") }
        try acknowledge(
            "stored everything that was committed"
                + (status.completeAt.map { " until \(PointInTime.text($0))" } ?? "")
                + ", \(Self.size(status.storedBytes)) since the start")
    }

    func end() {
        if hasLine { StatusLine.show("") }
    }

    // MARK: - JSON

    private static func state(of status: DatabaseMirror.Status) -> String {
        if status.failure != nil { return "failing" }
        return status.completeAt == nil ? "starting" : "complete"
    }

    private func write(_ status: DatabaseMirror.Status, _ state: String) throws {
        let answer = Answer(
            name: name, state: state, storedBytes: status.storedBytes,
            completeAt: status.completeAt.map(PointInTime.textInUTC),
            behindSince: status.behindSince.map(PointInTime.textInUTC),
            failure: status.failure.map(Self.text),
            nextTry: status.nextTry.map(PointInTime.textInUTC))
        try Output.standard.write(jsonLine: answer)
        try Output.standard.flush()
    }

    // MARK: - Lines for people

    private mutating func log(_ status: DatabaseMirror.Status) throws {
        pending = nil
        if let failure = status.failure {
            let text = Self.text(failure)
            guard logged != .failing(text) else { return }
            guard (failure as? MirrorError)?.isTransient == true else {
                pending = text
                return
            }
            logged = .failing(text)
            report("\(text); trying again")
        } else if let date = status.completeAt, logged != .complete {
            logged = .complete
            try acknowledge(
                "everything committed until \(PointInTime.text(date)) is in the store, "
                    + "\(Self.size(status.storedBytes)) since the start")
        }
    }

    private func report(_ text: String) {
        Failure(text, .store).report()
    }

    /// Shows what has changed with the time.
    mutating func refresh() {
        if hasLine, let status {
            StatusLine.show("\(isStopping ? "stopping, " : "")\(Self.line(status, now: Date()))")
        } else if let failure = pending {
            pending = nil
            logged = .failing(failure)
            report(failure)
        }
    }

    static func line(_ status: DatabaseMirror.Status, now: Date) -> String {
        let size = "\(size(status.storedBytes)) stored"
        let time = status.completeAt.map { $0.formatted(date: .omitted, time: .standard) }
        guard let failure = status.failure else {
            return time.map { "up to date, last change stored at \($0), \(size)" }
                ?? "storing all pages, \(size)"
        }
        // Without a commit that waits, a failure concerns what is merged and removed.
        let behind =
            status.behindSince.map { "behind for \(duration(now.timeIntervalSince($0)))" }
            ?? (status.completeAt == nil ? "nothing complete yet" : "up to date")
        let next =
            status.nextTry.map {
                $0 > now ? ", next try in \(duration($0.timeIntervalSince(now)))" : ", trying"
            } ?? ""
        return "\(behind), \(size)\(next): \(text(failure))"
    }

    private static func text(_ error: any Error) -> String {
        Failure(error)?.message ?? "\(error)"
    }

    static func duration(_ seconds: TimeInterval) -> String {
        let seconds = Int(max(0, seconds).rounded(.up))
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60) min \(seconds % 60) s"
        default: return "\(seconds / 3600) h \(seconds / 60 % 60) min"
        }
    }

    static func size(_ bytes: Int) -> String {
        var (number, unit) = (Double(bytes), "bytes")
        for next in ["kB", "MB", "GB", "TB"] where number >= 1000 {
            (number, unit) = (number / 1000, next)
        }
        return unit == "bytes" ? "\(bytes) bytes" : String(format: "%.1f %@", number, unit)
    }
}
