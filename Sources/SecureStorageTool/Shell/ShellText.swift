/// What a user types into the shell: SQL up to semicolons, and commands in lines of their own.
enum ShellText {
    /// Commands that need no dot.
    static let words: Set<String> = ["help", "quit", "exit"]

    /// Returns the command of a line that is not inside a statement, with its dot; nil for SQL.
    static func command(_ line: some StringProtocol) -> String? {
        if line.hasPrefix(".") { return String(line) }
        var word = line.lowercased()[...]
        while let last = word.last, last == ";" || last.isWhitespace { word.removeLast() }
        word = word.drop(while: \.isWhitespace)
        return words.contains(String(word)) ? "." + word : nil
    }

    /// Returns whether all statements of the text have their semicolons.
    static func isComplete(_ text: String) -> Bool {
        var scanner = StatementScanner()
        var isIncomplete = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if !isIncomplete, command(line) != nil { continue }
            for byte in line.utf8 where scanner.ends(with: byte) { scanner.reset() }
            // A word ends at the byte after it.
            if scanner.ends(with: 0x0a) { scanner.reset() }
            isIncomplete = scanner.hasStatement || scanner.isInside
        }
        return !isIncomplete
    }
}
