internal import Foundation
internal import SecureStorage

/// The user's terminal: its width, and prompts whose answers are not echoed.
enum Terminal {
    /// Returns the columns of the terminal at `descriptor`, or nil when it is not a terminal.
    static func width(of descriptor: Int32 = STDOUT_FILENO) -> Int? {
        size(of: descriptor)?.columns
    }

    /// Returns the size of the terminal at `descriptor`, or nil when it is not a terminal.
    static func size(of descriptor: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int)? {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (80, 24) }
        return (
            columns: size.ws_col > 0 ? Int(size.ws_col) : 80,
            rows: size.ws_row > 0 ? Int(size.ws_row) : 24
        )
    }

    /// Prompts on the terminal itself, regardless of redirections, and does not echo the answer.
    ///
    /// - Throws: a usage error when no terminal exists.
    static func askSecret(_ question: String) throws -> SecretBytes {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else {
            throw Failure.usage(
                "no terminal is available to prompt for the key",
                hint: "pass it with --key-fd, --key-file or --key-env")
        }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else {
            throw Failure.system("the terminal cannot be set up", .noKey)
        }
        var unseen = before
        // No signals either: one that ended the program here would leave the terminal without echo.
        unseen.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        return try EndingSignals.whileHeld { signals in
            guard tcsetattr(terminal, TCSAFLUSH, &unseen) == 0 else {
                throw Failure.system("the terminal cannot be set up", .noKey)
            }
            defer {
                _ = tcsetattr(terminal, TCSAFLUSH, &before)
                show("\n", on: terminal)
            }
            show(question, on: terminal)
            return try readSecret(from: terminal, signals)
        }
    }

    private static func show(_ text: String, on terminal: Int32) {
        let bytes = Array(Visible.text(text, keepsLines: true).utf8)
        // If the question cannot be shown, it is not answered either.
        _ = write(terminal, bytes, bytes.count)
    }

    private static let longest = 1024

    private static func readSecret(
        from terminal: Int32, _ signals: EndingSignals
    ) throws -> SecretBytes {
        var count = 0
        let typed = try SecretBytes(count: longest + 1) { buffer in
            while true {
                try signals.wait(for: terminal)
                guard read(terminal, &buffer[count], 1) == 1 else {
                    throw Failure("the terminal was closed", .noKey)
                }
                switch buffer[count] {
                case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return
                case 0x03: throw Failure("interrupted", .signal(SIGINT))  // Ctrl-C
                case 0x04:  // Ctrl-D
                    if count == 0 { throw Failure("no key was given", .noKey) }
                    return
                case 0x15: count = 0  // Ctrl-U
                case 0x08, 0x7f:
                    // Delete a whole character, however many bytes it has.
                    while count > 0, buffer[count - 1] & 0xc0 == 0x80 { count -= 1 }
                    count = max(0, count - 1)
                default:
                    guard count < longest else {
                        throw Failure("the key is too long to be typed", .noKey)
                    }
                    count += 1
                }
            }
        }
        return typed.prefix(count)
    }
}

extension SecretBytes {
    /// Returns the first bytes, in separate memory.
    func prefix(_ length: Int) -> SecretBytes { slice(0..<length) }

    /// Returns some of the bytes, in separate memory.
    func slice(_ range: Range<Int>) -> SecretBytes {
        withUnsafeBytes { all in
            SecretBytes(count: range.count) { buffer in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: all[range]))
            }
        }
    }
}
