import Foundation
package import SecureStorage

/// A source of passwords: the terminal, without echo, or the lines of a descriptor; never an
/// argument.
package struct PasswordSource: Sendable {
    /// nil for the terminal.
    private let descriptor: Int32?

    package init(descriptor: Int32?) { self.descriptor = descriptor }

    /// Removes `--password-fd N` from the beginning of a program's arguments.
    ///
    /// - Throws: `Failure` when N is not a valid descriptor number.
    package init(takingFrom words: inout [String]) throws {
        guard words.first == "--password-fd" else {
            descriptor = nil
            return
        }
        guard words.count > 1, let number = Int32(words[1]), number >= 0 else {
            throw Failure("--password-fd needs the number of a descriptor")
        }
        descriptor = number
        words.removeFirst(2)
    }

    /// Whether another answer is possible: a person may have mistyped.
    package var canAskAgain: Bool { descriptor == nil }

    /// - Throws: `Failure` without a terminal, at the end of the descriptor, and for an empty
    ///   answer unless `allowingEmpty` is true.
    package func ask(_ question: String, allowingEmpty: Bool = false) throws -> SecretBytes {
        let answer = try descriptor.map { try Self.line(from: $0) } ?? askTerminal(question)
        guard allowingEmpty || answer.count > 0 else { throw Failure("no password was given") }
        return answer
    }

    private func askTerminal(_ question: String) throws -> SecretBytes {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else {
            throw Failure("there is no terminal to ask on; use --password-fd")
        }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else {
            throw Failure("the terminal cannot be set up")
        }
        var unseen = before
        // No signals either: one that ended the program here would leave the terminal without echo.
        unseen.c_lflag &= ~tcflag_t(ECHO | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &unseen) == 0 else {
            throw Failure("the terminal cannot be set up")
        }
        defer {
            _ = tcsetattr(terminal, TCSAFLUSH, &before)
            _ = write(terminal, "\n", 1)
        }
        let text = Array((question + ": ").utf8)
        _ = write(terminal, text, text.count)
        let answer = try Self.line(from: terminal)
        guard !answer.withUnsafeBytes({ $0.contains(3) }) else { throw Failure("interrupted") }
        return answer
    }

    /// Reads a new password; on a terminal the user has to enter it twice.
    package func askForNew(allowingEmpty: Bool = false) throws -> SecretBytes {
        let new = try ask("new password", allowingEmpty: allowingEmpty)
        if canAskAgain, try ask("again", allowingEmpty: allowingEmpty) != new {
            throw Failure("the two are different; nothing was changed")
        }
        return new
    }

    /// Reads one byte at a time, because the text after the line answers the next question.
    private static func line(from descriptor: Int32) throws -> SecretBytes {
        let longest = 1024
        var count = 0
        let buffer = try SecretBytes(count: longest + 1) { buffer in
            while true {
                let length = read(descriptor, &buffer[count], 1)
                if length < 0, errno == EINTR { continue }
                guard length == 1 else {
                    guard length == 0, count > 0 else { throw Failure("no password was given") }
                    return
                }
                if buffer[count] == UInt8(ascii: "\n") { return }
                count += 1
                guard count <= longest else { throw Failure("the password is too long") }
            }
        }
        return SecretBytes(count: count) { copy in
            buffer.withUnsafeBytes {
                copy.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0.prefix(count)))
            }
        }
    }
}
