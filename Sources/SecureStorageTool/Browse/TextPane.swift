internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// A long text in lines that fit the screen, or a blob as a hex dump; it scrolls.
struct TextPane: Equatable {
    let title: String
    private let content: Content
    private var lines: [String] = []
    private(set) var top = 0
    private(set) var height = 1
    private var width = 0

    private enum Content: Equatable {
        case text(String)
        case bytes(Data)
    }

    init(_ title: String, _ value: SQLiteValue) {
        self.title = title
        switch value {
        case .text(let text): content = .text(text)
        case .blob(let bytes): content = .bytes(bytes)
        default: content = .text(ValueText.shown(value))
        }
    }

    var lineCount: Int {
        switch content {
        case .text: lines.count
        case .bytes(let bytes): (bytes.count + perLine - 1) / perLine
        }
    }

    var shown: [String] {
        let range = top..<min(lineCount, top + height)
        switch content {
        case .text: return Array(lines[range])
        case .bytes(let bytes): return range.map { dump(bytes, line: $0) }
        }
    }

    mutating func setSize(width: Int, height: Int) {
        self.height = max(1, height)
        if width != self.width {
            // The text at the top stays there, about.
            let share = lineCount == 0 ? 0 : Double(top) / Double(lineCount)
            self.width = width
            if case .text(let text) = content { lines = Self.wrapped(text, to: max(2, width)) }
            top = Int(share * Double(lineCount))
        }
        scroll(by: 0)
    }

    mutating func scroll(by count: Int) {
        top = max(0, min(top + count, lineCount - height))
    }

    /// Scrolls for a key, as `less` does.
    ///
    /// - Returns: False for a key that does not scroll.
    mutating func take(_ key: Key) -> Bool {
        switch key {
        case .down, .text("j"), .enter: scroll(by: 1)
        case .up, .text("k"): scroll(by: -1)
        case .pageDown, .text(" "), .control("f"), .text("f"): scroll(by: height)
        case .pageUp, .text("b"), .control("b"): scroll(by: -height)
        case .control("d"): scroll(by: height / 2)
        case .control("u"): scroll(by: -height / 2)
        case .home, .text("g"), .text("<"): scroll(by: -top)
        case .end, .text("G"), .text(">"): scroll(by: lineCount)
        default: return false
        }
        return true
    }

    // MARK: - Lines

    /// Returns the lines of a text, of which none is wider than the screen; tabs are blanks up to
    /// the next multiple of 8, and other control characters are escaped.
    private static func wrapped(_ text: String, to width: Int) -> [String] {
        var lines: [String] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isLineFeed) {
            var current = ""
            var used = 0
            func add(_ piece: String, _ columns: Int) {
                if used + columns > width {
                    lines.append(current)
                    (current, used) = ("", 0)
                }
                current += piece
                used += columns
            }
            for character in line {
                if let ascii = character.asciiValue, 0x20..<0x7f ~= ascii {
                    add(String(character), 1)
                } else if character == "\t" {
                    let blanks = min(8 - used % 8, max(1, width - used))
                    add(String(repeating: " ", count: blanks), blanks)
                } else {
                    let piece = Visible.text(String(character))
                    // An escape may be divided, a character may not.
                    if piece.utf8.allSatisfy({ $0 < 0x80 }) {
                        for part in piece { add(String(part), 1) }
                    } else {
                        add(piece, DisplayWidth.of(piece))
                    }
                }
            }
            lines.append(current)
        }
        return lines
    }

    private var perLine: Int { width >= 76 ? 16 : 8 }

    private func dump(_ bytes: Data, line: Int) -> String {
        let start = bytes.startIndex + line * perLine
        let part = bytes[start..<min(start + perLine, bytes.endIndex)]
        let offset = String(line * perLine, radix: 16)
        var result = String(repeating: "0", count: max(0, 8 - offset.count)) + offset + " "
        for position in 0..<perLine {
            if position % 8 == 0 { result += " " }
            result += position < part.count ? Hex.text([part[start + position]]) + " " : "   "
        }
        let characters = part.map { 0x20..<0x7f ~= $0 ? Character(Unicode.Scalar($0)) : "." }
        return result + " |" + String(characters) + "|"
    }
}

extension Character {
    fileprivate var isLineFeed: Bool { self == "\n" || self == "\r\n" }
}
