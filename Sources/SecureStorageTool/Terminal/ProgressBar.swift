internal import Foundation
internal import SecureStorage

/// How far a long piece of work is, on standard error when that is a terminal.
///
/// Nothing is shown for work of less than half a second.
final class ProgressBar {
    private let title: String
    private let total: Int?
    private let isShown = isatty(STDERR_FILENO) == 1
    private let start = ContinuousClock.now
    private var lastShown: ContinuousClock.Instant?
    private var calls = 0

    /// - Parameters:
    ///   - title: What is being done.
    ///   - total: In the unit of ``advance(to:_:)``; nil when nobody knows.
    init(_ title: String, total: Int?) {
        self.title = title
        self.total = total
    }

    deinit { finish() }

    /// - Parameters:
    ///   - done: Of the total.
    ///   - detail: Such as the number of rows; only asked for when it is shown.
    func advance(to done: Int, _ detail: @autoclosure () -> String) {
        guard isShown else { return }
        calls += 1
        // The clock costs more than a row.
        guard calls & 0x3f == 0 else { return }
        showSometimes(line(done, of: total, detail()))
    }

    /// For work on a whole file, which tells its total each time.
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
        show(line())
    }

    /// Takes the bar away.
    func finish() {
        if lastShown != nil { show("") }
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

    private func show(_ line: String) {
        let width = (Terminal.width(of: STDERR_FILENO) ?? 80) - 1
        let text = "\r\u{1b}[K" + DisplayWidth.cut(Visible.text(line), to: width)
        let bytes = Array(text.utf8)
        // A bar that cannot be shown is no reason to stop.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Runs long work on a whole file, shows its progress, and ends it at Ctrl-C: then nothing is left
/// of it.
func withProgress<R>(
    _ title: String, _ body: (FileProgress.Handler) throws -> R
) throws -> R {
    try Interrupts.call {}
    let bar = ProgressBar(title, total: nil)
    defer { bar.finish() }
    return try body { progress in
        guard !Interrupts.hasCome else { throw Failure("interrupted; nothing was changed") }
        bar.advance(to: progress)
    }
}
