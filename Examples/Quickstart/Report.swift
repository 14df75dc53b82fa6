import Foundation

/// Standard output, for people.
struct Report {
    static let width = 100

    /// - Throws: `Failure` when the reader has closed the pipe or the disk is full.
    func write(_ text: String) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
        } catch {
            throw Failure("cannot write to standard output")
        }
    }

    func heading(_ text: String) throws {
        try write("\n\(Self.printable(text))\n")
    }

    /// Writes a paragraph, indented like the tables and wrapped between words.
    func paragraph(_ text: String) throws {
        var lines: [String] = []
        for word in Self.printable(text).split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= Self.width - 2 {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        for line in lines { try write("  \(line)\n") }
    }

    func table(_ table: Table) throws {
        try write(table.text(width: Self.width - 2).map { "  \($0)\n" }.joined())
    }

    /// Returns the text on one line without control characters: text from a file must not move the
    /// cursor, or worse.
    static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if scalar.properties.isWhitespace {
                if result.last != " " { result += " " }
                continue
            }
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
                .unassigned:
                result.unicodeScalars.append("\u{FFFD}")
            default:
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
