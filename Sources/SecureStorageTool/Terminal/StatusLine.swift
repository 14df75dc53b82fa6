internal import Foundation

/// A line on standard error, if that is a terminal, which is replaced again and again.
enum StatusLine {
    static let isPossible = isatty(STDERR_FILENO) == 1

    /// Replaces the line; an empty text removes it.
    static func show(_ line: String) {
        guard isPossible else { return }
        let width = (Terminal.width(of: STDERR_FILENO) ?? 80) - 1
        let text = "\r\u{1b}[K" + DisplayWidth.cut(Visible.text(line), to: width)
        let bytes = Array(text.utf8)
        // Failure to show the line is not a reason to stop.
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
