internal import Foundation
internal import SecureStorage

/// The progress of a long operation, on standard error if that is a terminal.
///
/// Nothing is shown for operations of less than half a second.
final class ProgressBar {
    private let title: String
    private let total: Int?
    private let isShown = StatusLine.isPossible
    private let start = ContinuousClock.now
    private var lastShown: ContinuousClock.Instant?
    private var calls = 0

    /// - Parameters:
    ///   - title: The name of the operation.
    ///   - total: In the unit of ``advance(to:_:)``; nil when unknown.
    init(_ title: String, total: Int?) {
        self.title = title
        self.total = total
    }

    deinit { finish() }

    /// - Parameters:
    ///   - done: The completed part of the total.
    ///   - detail: Such as the number of rows; evaluated only when it is shown.
    func advance(to done: Int, _ detail: @autoclosure () -> String) {
        guard isShown else { return }
        calls += 1
        // Reading the clock costs more than a row.
        guard calls & 0x3f == 0 else { return }
        showSometimes(line(done, of: total, detail()))
    }

    /// Updates the bar for an operation on a whole file, which reports its total each time.
    func advance(to progress: FileProgress) {
        guard isShown else { return }
        showSometimes(line(progress.completed, of: progress.total, ""))
    }

    private func showSometimes(_ line: @autoclosure () -> String) {
        let now = ContinuousClock.now
        guard now - start > .milliseconds(500),
            lastShown.map({ now - $0 > .milliseconds(100) }) ?? true
        else { return }
        lastShown = now
        StatusLine.show(line())
    }

    /// Removes the bar.
    func finish() {
        if lastShown != nil { StatusLine.show("") }
        lastShown = nil
    }

    private func line(_ done: Int, of total: Int?, _ detail: String) -> String {
        guard let total, total > 0 else { return "\(title)  \(detail)" }
        let share = min(1, Double(done) / Double(total))
        let filled = Int(share * 20)
        let bar =
            String(repeating: "█", count: filled) + String(repeating: "░", count: 20 - filled)
        return "\(title) \(bar) \(Int(share * 100)) %  \(detail)"
    }
}

/// Runs a long operation on a whole file, shows its progress, and ends it at a signal, which
/// leaves nothing of it behind.
func withProgress<R>(
    _ title: String, _ body: (FileProgress.Handler) throws -> R
) throws -> R {
    try StopSignals.catchAll()
    let bar = ProgressBar(title, total: nil)
    defer { bar.finish() }
    return try body { progress in
        try StopSignals.check()
        bar.advance(to: progress)
    }
}
