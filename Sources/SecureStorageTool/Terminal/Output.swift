internal import Foundation
internal import SecureStoragePlatform

/// A buffered descriptor for output.
///
/// Output to a terminal passes through ``Visible``: data could contain escape sequences, which the
/// terminal would execute.
final class Output {
    nonisolated(unsafe) static let standard = Output(descriptor: STDOUT_FILENO)
    nonisolated(unsafe) static let errors = Output(descriptor: STDERR_FILENO)
    // nonisolated(unsafe): only the main thread writes.

    let isTerminal: Bool
    private(set) var byteCount = 0
    /// The pager that shows what is written now.
    fileprivate var pager: Pager?
    fileprivate let descriptor: Int32
    fileprivate var buffer: [UInt8] = []
    private static let bufferSize = 64 * 1024

    init(descriptor: Int32) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        buffer.reserveCapacity(Self.bufferSize)
    }

    func write(_ text: String) throws {
        var text = text
        try text.withUTF8 { try write(UnsafeRawBufferPointer($0)) }
    }

    func write(line: String) throws {
        try write(line)
        try write(byte: UInt8(ascii: "\n"))
    }

    func write(byte: UInt8) throws {
        buffer.append(byte)
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Writes a number in decimal digits, without a text of its own.
    func write(_ number: Int64) throws {
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            var rest = number.magnitude
            repeat {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            }
            try write(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(digits)[start...]))
        }
    }

    /// Writes two hexadecimal digits per byte.
    func write(hex bytes: UnsafeRawBufferPointer) throws {
        let digits = StaticString("0123456789abcdef").utf8Start
        for byte in bytes {
            try write(byte: digits[Int(byte >> 4)])
            try write(byte: digits[Int(byte & 0x0f)])
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        // Avoids a second copy of a giant value.
        var rest = bytes
        while !rest.isEmpty {
            let room = min(rest.count, Self.bufferSize - buffer.count)
            buffer.append(contentsOf: rest[..<room])
            rest = UnsafeRawBufferPointer(rebasing: rest[room...])
            if buffer.count >= Self.bufferSize { try flush(all: rest.isEmpty) }
        }
    }

    /// Writes everything to the descriptor before it returns.
    func flush() throws { try flush(all: true) }

    private func flush(all: Bool) throws {
        guard !buffer.isEmpty else { return }
        guard isTerminal else {
            try send(buffer)
            buffer.removeAll(keepingCapacity: true)
            return
        }
        // An incomplete character waits for its remaining bytes.
        let end = all ? buffer.count : buffer.count - Visible.incompleteSuffix(of: buffer)
        let text = String(decoding: buffer[..<end], as: UTF8.self)
        try send(Array(Visible.text(text, keepsLines: true).utf8))
        buffer.removeSubrange(..<end)
    }

    private func send(_ bytes: [UInt8]) throws {
        byteCount += bytes.count
        if let pager {
            try pager.write(bytes)
            return
        }
        do {
            try bytes.withUnsafeBytes { try Descriptor(borrowing: descriptor).write($0) }
        } catch let error as SystemError {
            if error.code == EPIPE { exit(128 + SIGPIPE) }
            throw Failure("cannot write: \(error.reason)", .access)
        }
    }
}

extension Output {
    /// Shows what `body` writes in a pager if it is longer than the screen.
    ///
    /// Control characters are escaped for the pager as for the terminal, to which `less -R` passes
    /// some of them.
    ///
    /// - Parameters:
    ///   - command: The pager; nil for none.
    ///   - body: Ends early, without an error of this function, when the user leaves the pager.
    /// - Throws: Any error thrown by `body`, after the user has left the pager.
    func paged(by command: String?, _ body: () throws -> Void) throws {
        guard let command, isTerminal, pager == nil else { return try body() }
        try flush()
        let pager = Pager(command, for: descriptor)
        self.pager = pager
        let result = Result { try body() }
        do {
            try flush()
        } catch is Pager.WasLeft {
            discard()
        }
        self.pager = nil
        try pager.finish()
        do {
            try result.get()
        } catch is Pager.WasLeft {}
    }

    private func discard() { buffer.removeAll(keepingCapacity: true) }
}

/// Reports a commit on a separate line, which programs can wait for.
func acknowledge(_ line: String, on output: Output = .standard) throws {
    if output === Output.errors, Report.isJSON {
        Report.write(code: "done", message: line)
    } else {
        try output.write(line: line)
    }
    try output.flush()
}

extension Output {
    /// Writes a text in quotes and doubles each quote in it, as in CSV and SQL.
    func write(_ bytes: UnsafeRawBufferPointer, between quote: UInt8) throws {
        try write(byte: quote)
        var rest = bytes
        while let position = rest.firstIndex(of: quote) {
            try write(UnsafeRawBufferPointer(rebasing: rest[...position]))
            try write(byte: quote)
            rest = UnsafeRawBufferPointer(rebasing: rest[(position + 1)...])
        }
        try write(rest)
        try write(byte: quote)
    }
}
