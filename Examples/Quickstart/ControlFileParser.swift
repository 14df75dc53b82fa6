import Foundation

/// Parses Debian control files into stanzas of fields.
///
/// A field is `Name: value`; lines that begin with a space or tab continue it; an empty line ends
/// the stanza; `#` begins a comment. See [deb822(5)](https://manpages.debian.org/deb822.5).
struct ControlFileParser {
    /// A line that is not valid in the format.
    struct MalformedLine: Error {
        /// The number of the line, from 1.
        let number: Int
    }

    private(set) var stanzas: [[DebianPackage.Field]] = []
    private var stanza: [DebianPackage.Field] = []

    mutating func parse(_ data: Data) throws {
        // Split as bytes: for Swift a `\r\n` is a single `Character`, and a combining mark joins
        // the line break before it.
        let lines = data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            guard read(line.last == UInt8(ascii: "\r") ? line.dropLast() : line) else {
                throw MalformedLine(number: index + 1)
            }
        }
        endStanza()
    }

    /// - Returns: False for a malformed line.
    private mutating func read(_ line: Data) -> Bool {
        switch line.first {
        case nil:
            endStanza()
            return true
        case UInt8(ascii: "#"):
            return true
        case UInt8(ascii: " "), UInt8(ascii: "\t"):
            return readContinuation(line)
        default:
            return readField(line)
        }
    }

    private mutating func readContinuation(_ line: Data) -> Bool {
        if line.allSatisfy({ Self.blanks.contains($0) }) {
            endStanza()
            return true
        }
        guard !stanza.isEmpty else { return false }
        stanza[stanza.count - 1].value += "\n" + Self.text(line.dropFirst())
        return true
    }

    private mutating func readField(_ line: Data) -> Bool {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let name = line[..<colon]
        // Printable ASCII without spaces, so that no other kind of file is accepted as a list.
        guard let first = name.first, first != UInt8(ascii: "-"),
            name.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return false }
        let value = line[(colon + 1)...].drop { Self.blanks.contains($0) }
        stanza.append(DebianPackage.Field(name: Self.text(name), value: Self.text(value)))
        return true
    }

    private mutating func endStanza() {
        if !stanza.isEmpty { stanzas.append(stanza) }
        stanza = []
    }

    private static let blanks: Set<UInt8> = [UInt8(ascii: " "), UInt8(ascii: "\t")]

    /// Decodes text; invalid UTF-8 becomes U+FFFD, since a name in Latin-1 must not reject a whole
    /// list.
    private static func text(_ bytes: Data) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
