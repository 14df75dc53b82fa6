import Foundation
import SecureStorage
import TypedPasswords

/// A file of passwords as exported by browsers: `name,url,username,password`, in any order.
///
/// The file itself is not encrypted; delete it afterwards.
enum CSVFile {
    /// - Throws: `Failure` for a file without these columns; for an invalid row, the failure has
    ///   its line.
    static func credentials(in text: String) throws -> [WebsiteCredentials] {
        var rows = try rows(of: text)
        guard !rows.isEmpty else { throw Failure("the file is empty") }
        let header = rows.removeFirst().fields.map { $0.lowercased() }
        func column(_ name: String) throws -> Int {
            guard let index = header.firstIndex(of: name) else {
                throw Failure("the file has no column \"\(name)\"; export it as CSV again")
            }
            return index
        }
        let (url, username, password) = (
            try column("url"), try column("username"), try column("password")
        )
        let name = header.firstIndex(of: "name")
        return try rows.map { line, fields in
            guard fields.count == header.count else {
                throw Failure("line \(line) has \(fields.count) fields, not \(header.count)")
            }
            guard let domain = Domain.of(fields[url]) else {
                throw Failure("line \(line) has no address")
            }
            return WebsiteCredentials(
                account: WebsiteAccount(
                    domain: domain, username: fields[username],
                    title: name.map { fields[$0] } ?? domain),
                password: SecretBytes(utf8: fields[password]))
        }
    }

    /// Returns the rows of [RFC 4180](https://www.rfc-editor.org/rfc/rfc4180) text, each with the
    /// line on which it begins.
    private static func rows(of text: String) throws -> [(line: Int, fields: [String])] {
        var rows: [(line: Int, fields: [String])] = []
        var fields: [String] = []
        var field = String.UnicodeScalarView()
        var (line, start, isQuoted, wasQuoted) = (1, 1, false, false)
        var scalars = text.unicodeScalars[...]
        if scalars.first == "\u{feff}" { scalars.removeFirst() }

        func endField() {
            fields.append(String(field))
            field.removeAll()
            wasQuoted = false
        }
        func endRow() {
            if !fields.isEmpty || !field.isEmpty || wasQuoted {
                endField()
                rows.append((start, fields))
            }
            fields = []
        }
        while let scalar = scalars.popFirst() {
            if scalar == "\n" { line += 1 }
            switch scalar {
            case "\"" where isQuoted && scalars.first == "\"":
                scalars.removeFirst()
                field.append(scalar)
            case "\"" where isQuoted: isQuoted = false
            case _ where isQuoted: field.append(scalar)
            case "\"" where field.isEmpty && !wasQuoted: (isQuoted, wasQuoted) = (true, true)
            case ",": endField()
            case "\r" where scalars.first == "\n": break
            case "\n":
                endRow()
                start = line
            default: field.append(scalar)
            }
        }
        guard !isQuoted else { throw Failure("line \(start) has a quotation without an end") }
        endRow()
        return rows
    }
}
