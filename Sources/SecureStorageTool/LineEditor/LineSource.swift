internal import Foundation

/// The result of reading a line.
enum InputLine {
    /// A line without its line feed, or the lines of a whole text.
    case line([UInt8])
    case end
    /// Ctrl-C while the line was being typed.
    case interrupted
}

/// A source of the shell's lines.
protocol LineSource: AnyObject {
    /// The number of the last line, from 1.
    var number: Int { get }
    func next(prompt: String) throws -> InputLine
    /// Makes a statement or command available with the up key.
    func remember(_ entry: String)
}

/// Unedited lines from a descriptor, for scripts, and for terminals that cannot move the cursor.
final class PlainLines: LineSource {
    private(set) var number = 0
    private let descriptor: Int32
    private let showsPrompt: Bool
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false

    init(_ descriptor: Int32, showsPrompt: Bool) {
        self.descriptor = descriptor
        self.showsPrompt = showsPrompt
    }

    func next(prompt: String) throws -> InputLine {
        if showsPrompt {
            try Output.standard.write(prompt)
            try Output.standard.flush()
        }
        Interrupts.clear()
        while true {
            if let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(buffer[start..<end])
                start = end + 1
                number += 1
                return .line(line)
            }
            if isAtEnd {
                let line = Array(buffer[start...])
                start = buffer.count
                number += 1
                return line.isEmpty ? .end : .line(line)
            }
            guard try fill() else { return .interrupted }
        }
    }

    /// Reads more input; returns false when Ctrl-C interrupted it.
    private func fill() throws -> Bool {
        buffer.removeSubrange(..<start)
        start = 0
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR {
            if showsPrompt { try Output.standard.write("\n") }
            return !Interrupts.hasCome && !StopSignals.hasCome
        }
        guard count >= 0 else { throw Failure.system("the input cannot be read") }
        isAtEnd = count == 0
        buffer += chunk[..<count]
        return true
    }

    func remember(_ entry: String) {}
}
