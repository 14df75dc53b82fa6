internal import Foundation

/// What came of asking for a line.
enum InputLine {
    /// Without its line feed.
    case line([UInt8])
    case end
    /// Ctrl-C while the line was typed.
    case interrupted
}

/// Where the shell's lines come from.
protocol LineSource: AnyObject {
    /// The number of the last line, from 1.
    var number: Int { get }
    func next(prompt: String) throws -> InputLine
    /// Makes lines come back with the up key.
    func remember(_ line: String)
}

/// Lines of a descriptor as they are, for scripts, and for terminals where there is no library to edit them.
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

    /// Reads more; false when Ctrl-C came meanwhile.
    private func fill() throws -> Bool {
        buffer.removeSubrange(..<start)
        start = 0
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR {
            if showsPrompt { try Output.standard.write("\n") }
            return !Interrupts.hasCome
        }
        guard count >= 0 else { throw Failure.system("the input cannot be read") }
        isAtEnd = count == 0
        buffer += chunk[..<count]
        return true
    }

    func remember(_ line: String) {}
}

/// Lines that can be edited, with the system's libedit or libreadline.
///
/// Opened while the program runs, so that neither has to be there when it is built, or at all.
final class EditedLines: LineSource {
    private typealias ReadLine =
        @convention(c) (UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>?
    private typealias AddHistory = @convention(c) (UnsafePointer<CChar>) -> Int32

    private(set) var number = 0
    private let readLine: ReadLine
    private let addHistory: AddHistory

    /// libedit first: Ctrl-C ends the line there.
    private static let names = [
        "libedit.so.2", "libedit.so.0", "libedit.so", "/usr/lib/libedit.3.dylib",
        "libreadline.so.8", "libreadline.so.7", "libreadline.so",
    ]

    /// nil when no such library is there.
    init?() {
        for name in Self.names {
            // Never closed: the terminal stays its own.
            guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { continue }
            guard let readLine = dlsym(library, "readline"),
                let addHistory = dlsym(library, "add_history")
            else { continue }
            self.readLine = unsafeBitCast(readLine, to: ReadLine.self)
            self.addHistory = unsafeBitCast(addHistory, to: AddHistory.self)
            // For characters of more than one byte.
            setlocale(LC_CTYPE, "")
            return
        }
        return nil
    }

    func next(prompt: String) throws -> InputLine {
        try Output.standard.flush()
        Interrupts.clear()
        guard let line = readLine(prompt) else {
            try Output.standard.write("\n")
            return Interrupts.hasCome ? .interrupted : .end
        }
        defer { free(line) }
        number += 1
        return .line(Array(UnsafeRawBufferPointer(start: line, count: strlen(line))))
    }

    func remember(_ line: String) { _ = addHistory(line) }
}
