internal import CSecureStoragePlatform
internal import Foundation

/// The terminal as a screen: keys one by one, the alternate screen, and everything as it was
/// afterwards.
final class ScreenTerminal {
    private let hasColors: Bool
    private var before = termios()
    private var isEntered = false
    /// What the screen shows; nil when that is unknown.
    private var shown: [StyledLine]?

    /// - Throws: a usage error when input and output are not a terminal that can do this.
    init(environment: [String: String] = ProcessInfo.processInfo.environment) throws {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
            throw Failure.usage(
                "browse needs a terminal for its input and output",
                hint: "\"securestorage query\" prints rows into a pipe or a file")
        }
        let name = environment["TERM"] ?? ""
        guard !name.isEmpty, name != "dumb", name != "unknown" else {
            throw Failure.usage(
                "browse needs a terminal that can place text, and TERM is \"\(name)\"",
                hint: "set TERM to the terminal's type, or use \"securestorage shell\"")
        }
        // https://no-color.org
        hasColors = (environment["NO_COLOR"] ?? "").isEmpty
        let size = size
        guard !size.isTooSmall else {
            throw Failure.usage(
                "the terminal has \(size.columns) columns and \(size.lines) lines, and browse needs "
                    + "\(ScreenSize.smallest.columns) and \(ScreenSize.smallest.lines)",
                hint: "make its window larger")
        }
    }

    deinit { leave() }

    var size: ScreenSize {
        var size = winsize()
        // Some terminals have no size.
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
        else { return ScreenSize(columns: 80, lines: 24) }
        return ScreenSize(columns: Int(size.ws_col), lines: Int(size.ws_row))
    }

    /// Takes the terminal over, also after another program has used it.
    func enter() throws {
        if !isEntered {
            guard tcgetattr(STDIN_FILENO, &before) == 0 else {
                throw Failure.system("the terminal cannot be set up")
            }
            CrashRestoration.prepare(before)
        }
        var keys = before
        keys.c_iflag &= ~tcflag_t(BRKINT | ICRNL | INLCR | IGNCR | INPCK | ISTRIP | IXON)
        keys.c_lflag &= ~tcflag_t(ECHO | ICANON | IEXTEN | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) == 0 else {
            throw Failure.system("the terminal cannot be set up")
        }
        isEntered = true
        shown = nil
        // The alternate screen, without a cursor; lines that are too long do not wrap.
        try write("\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l\u{1b}[m\u{1b}[2J")
    }

    /// Gives the terminal back.
    ///
    /// The screen is erased first: not every terminal has an alternate one, and some keep it.
    func leave() {
        guard isEntered else { return }
        isEntered = false
        // A terminal that is gone needs nothing.
        try? write(CrashRestoration.sequence.description)
        _ = tcsetattr(STDIN_FILENO, TCSADRAIN, &before)
    }

    /// Draws the lines that have changed, and the cursor in the last line, at a column from 1; nil
    /// hides it.
    func show(_ lines: [StyledLine], cursorColumn: Int?) throws {
        var output = "\u{1b}[?25l"
        if shown == nil { output += "\u{1b}[m\u{1b}[2J" }
        for (index, line) in lines.enumerated() {
            if let shown, index < shown.count, shown[index] == line { continue }
            // Erased first: a terminal that thinks a line wider would erase its last character.
            output += "\u{1b}[\(index + 1);1H\u{1b}[m\u{1b}[K" + line.encoded(hasColors: hasColors)
        }
        if let cursorColumn { output += "\u{1b}[\(lines.count);\(cursorColumn)H\u{1b}[?25h" }
        shown = lines
        try write(output)
    }

    private func write(_ text: String) throws {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Foundation.write(STDOUT_FILENO, $0.baseAddress, $0.count)
            }
            if count > 0 {
                bytes = bytes.dropFirst(count)
            } else if errno == EAGAIN {
                var ready = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, 1000)
            } else if errno != EINTR {
                throw Failure.system("the terminal cannot be written")
            }
        }
    }
}

/// Gives the terminal back when the program crashes.
private enum CrashRestoration {
    /// Erases the screen; then the cursor, wrapping and the main screen as they were.
    static let sequence: StaticString =
        "\u{1b}[m\u{1b}[2J\u{1b}[H\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"

    // nonisolated(unsafe): written before the handler is installed, which only reads them.
    nonisolated(unsafe) private static var settings = termios()
    nonisolated(unsafe) private static var isPrepared = false

    static func prepare(_ settings: termios) {
        self.settings = settings
        guard !isPrepared else { return }
        isPrepared = true
        // Initialised now, not in the handler.
        _ = sequence.utf8CodeUnitCount
        for signal in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT] {
            // Failure to install one is not a reason to stop.
            _ = cplatform_catch(
                signal,
                { number in
                    // Only async-signal-safe calls here.
                    let sequence = CrashRestoration.sequence
                    _ = write(STDOUT_FILENO, sequence.utf8Start, sequence.utf8CodeUnitCount)
                    _ = tcsetattr(STDIN_FILENO, TCSANOW, &CrashRestoration.settings)
                    _ = Foundation.signal(number, SIG_DFL)
                    raise(number)
                }, nil)
        }
    }
}
