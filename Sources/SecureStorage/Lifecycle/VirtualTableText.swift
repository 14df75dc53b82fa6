/// A statement `CREATE VIRTUAL TABLE`.
struct VirtualTableText {
    let module: String
    /// The module's arguments, each as it is written, with one blank for blanks and comments.
    private(set) var arguments: [String] = []

    /// Returns nil for any other text.
    init?(_ sql: String) {
        var words = SQLWord.all(in: sql)[...]
        func take(_ keywords: String...) -> Bool {
            guard words.prefix(keywords.count).map(\.keyword) == keywords else { return false }
            words.removeFirst(keywords.count)
            return true
        }
        guard take("CREATE", "VIRTUAL", "TABLE") else { return nil }
        _ = take("IF", "NOT", "EXISTS")
        guard words.popFirst() != nil, take("USING"), let module = words.popFirst() else {
            return nil
        }
        self.module = module.unquoted
        guard words.popFirst()?.text == "(" else { return }
        arguments = [""]
        var depth = 0
        for word in words {
            switch word.text {
            case ")" where depth == 0: return
            case "," where depth == 0: arguments.append("")
            default:
                depth += word.text == "(" ? 1 : word.text == ")" ? -1 : 0
                arguments[arguments.count - 1] += (word.isApart ? " " : "") + word.text
            }
        }
    }
}
