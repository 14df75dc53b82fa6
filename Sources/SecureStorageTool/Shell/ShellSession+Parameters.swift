internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

// `.parameter`: values for the placeholders of statements. They never become part of the SQL.

extension ShellSession {
    func setParameter(_ command: ShellCommand, _ rest: String) throws {
        let words = rest.split(maxSplits: 2, whereSeparator: \.isWhitespace).map { String($0) }
        switch (words.first, words.count) {
        case ("init", 1): break
        case ("list", 1):
            for (name, value) in (runner.parameters ?? [:]).sorted(by: { $0.key < $1.key }) {
                try runner.output.write(line: "\(name) \(ValueText.shown(value))")
            }
        case ("clear", 1): runner.parameters = [:]
        case ("unset", 2): runner.parameters?[words[1]] = nil
        case ("set", 3):
            let name = words[1]
            guard let first = name.first, ":@$?".contains(first), name.count > 1 else {
                throw Failure.usage(
                    "\"\(name)\" is not a placeholder", hint: "it begins with :, @, $ or ?")
            }
            runner.parameters?[name] = Self.value(words[2])
        default: throw Self.wrong(command)
        }
    }

    /// Returns the value of a literal; what is none is a text.
    static func value(_ text: String) -> SQLiteValue {
        let text = text.trimmingCharacters(in: .whitespaces)
        if text.count > 1, let quote = text.first, quote == "'" || quote == "\"",
            text.last == quote
        {
            let inner = unquoted(text).replacing("\(quote)\(quote)", with: String(quote))
            // "'5'" is the text 5, as in other shells.
            return .text(quote == "\"" ? unquoted(inner) : inner)
        }
        if text.uppercased() == "NULL" { return .null }
        if text.uppercased().hasPrefix("X'"), text.hasSuffix("'"),
            let bytes = Hex.decode(text.utf8.dropFirst(2).dropLast())
        {
            return .blob(Data(bytes))
        }
        var copy = text
        switch copy.withUTF8({ FieldNumber($0) }) {
        case .integer(let number)?: return .integer(number)
        case .real(let number)?: return .real(number)
        case nil: return .text(text)
        }
    }
}

/// `.exit 3`, or a script that continued after errors: they have been reported.
struct EndingWithStatus: Error {
    let status: Int32
}
