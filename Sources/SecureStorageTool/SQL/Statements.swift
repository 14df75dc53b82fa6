internal import Foundation

/// Splits a text into statements, with the lines at which they begin.
struct Statements {
    /// A statement and the line, from 1, at which it begins.
    struct Statement {
        let sql: String
        let line: Int
    }

    private var scanner = StatementScanner()
    /// The beginning of a statement whose end is in a later text.
    private var bytes: [UInt8] = []
    private var hasBegun = false
    private var line = 1
    private var firstLine = 1

    /// Whether a statement has begun that no semicolon has ended yet.
    var isInStatement: Bool { scanner.hasStatement || scanner.isInside }

    /// Whether the text ends inside quotes or a comment.
    var isInside: Bool { scanner.isInside || scanner.isInLineComment }
    /// The text of the statement that has begun.
    var unfinished: String { String(decoding: bytes, as: UTF8.self) }

    /// Adds more text, and returns the statements that it completes.
    mutating func take(_ text: some Sequence<UInt8>) throws -> [Statement] {
        try take(Array(text))
    }

    /// Adds more text, and returns the statements that it completes.
    mutating func take(_ text: [UInt8]) throws -> [Statement] {
        var complete: [Statement] = []
        try text.withUnsafeBufferPointer { text in
            // What is in `bytes` comes before it.
            var start = 0
            var next = 0
            while next < text.count {
                if !hasBegun {
                    // Whitespace before a statement does not belong to any.
                    guard text[next] > 0x20 else {
                        if text[next] == 0x0a { line += 1 }
                        next += 1
                        continue
                    }
                    (hasBegun, firstLine, start) = (true, line, next)
                }
                // Most bytes of a long script are in texts and names.
                let from = next
                next += scanner.skippable(UnsafeBufferPointer(rebasing: text[next...]))
                if next == from { next += 1 }
                for index in from..<next where text[index] == 0x0a { line += 1 }
                guard next == from + 1, scanner.ends(with: text[from]) else { continue }
                let rest = UnsafeBufferPointer(rebasing: text[start..<next])
                if let statement = try end(with: rest) { complete.append(statement) }
            }
            if hasBegun { bytes += UnsafeBufferPointer(rebasing: text[start...]) }
        }
        return complete
    }

    /// Returns the rest of the text as a statement without its semicolon.
    mutating func finish() throws -> Statement? {
        // Only the next byte ends a word.
        _ = scanner.ends(with: 0x0a)
        return try end(with: UnsafeBufferPointer(start: nil, count: 0))
    }

    mutating func reset() { self = Statements() }

    /// Returns the statement that ends with these bytes; nil for blanks and comments.
    private mutating func end(with rest: UnsafeBufferPointer<UInt8>) throws -> Statement? {
        defer {
            bytes.removeAll(keepingCapacity: true)
            scanner.reset()
            hasBegun = false
        }
        guard scanner.hasStatement else { return nil }
        let sql: String?
        if bytes.isEmpty {
            sql = Self.text(rest)
        } else {
            bytes += rest
            sql = bytes.withUnsafeBufferPointer { Self.text($0) }
        }
        guard let sql else {
            throw Failure("the statement at line \(firstLine) is not UTF-8", .data)
        }
        return Statement(sql: sql, line: firstLine)
    }

    /// Returns the text; nil if it is not UTF-8, which decoding would replace.
    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        var sql = String(decoding: bytes, as: UTF8.self)
        let isSame = sql.withUTF8 { text in
            guard let start = text.baseAddress, let original = bytes.baseAddress else {
                return true
            }
            return text.count == bytes.count && memcmp(start, original, bytes.count) == 0
        }
        return isSame ? sql : nil
    }
}
