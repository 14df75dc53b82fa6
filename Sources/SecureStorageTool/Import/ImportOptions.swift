/// What the user has chosen about an import into a table.
struct ImportOptions {
    /// nil: found out.
    var delimiter: UInt8?
    var hasHeader = true
    var emptyIsNull = false
    /// Whether a line may have fewer or more fields than there are columns.
    var fills = false
    /// Whether lines that cannot be imported are left out.
    var skips = false
    /// Whether a table that exists gets the columns that it lacks.
    var addsColumns = false
    var types = ColumnTypes()

    /// Returns the delimiter that a text names: one ASCII character, or `\t`; nil for others.
    static func delimiter(_ text: String) -> UInt8? {
        if text == "\\t" { return UInt8(ascii: "\t") }
        guard text.utf8.count == 1, !["\"", "\n", "\r"].contains(text) else { return nil }
        return text.utf8.first
    }
}

/// What was not as it could be expected, for the line that reports the import.
struct ImportRemarks {
    /// The delimiter that was found out, for people.
    var delimiter: String?
    /// The lines that were left out, those that got NULLs, and those whose end was left out.
    var skipped = 0
    var filled = 0
    var cut = 0
    /// The names that columns got.
    var named: [String] = []
    /// The columns that a table got.
    var added: [String] = []
    private static let mostShown = 10

    /// Reports a line that is left out.
    mutating func skip(_ failure: Failure, line: Int) {
        skipped += 1
        guard skipped <= Self.mostShown else { return }
        let end = skipped == Self.mostShown ? "; further ones are only counted" : ""
        let message = "line \(line) is left out: \(failure.message)\(end)"
        if Report.isJSON {
            Report.write(code: "warning", message: message)
        } else {
            try? Output.errors.write(line: "securestorage: " + message)
        }
        try? Output.errors.flush()
    }

    /// The end of the report, with a comma before it.
    var text: String {
        var parts: [String] = []
        if let delimiter { parts.append("fields separated by \(delimiter)") }
        parts += named
        if !added.isEmpty { parts.append("added " + added.joined(separator: ", ")) }
        if filled > 0 { parts.append("\(Counted.text(filled, "short line")) filled") }
        if cut > 0 { parts.append("\(Counted.text(cut, "long line")) cut") }
        if skipped > 0 { parts.append("\(Counted.text(skipped, "line")) left out") }
        return parts.map { ", " + $0 }.joined()
    }
}
