internal import SecureKeys

/// The files that AWS's tools share: sections in brackets, and lines with a name, `=` and a value.
///
/// Works on bytes, since a `String` with a secret key could not be cleared.
enum AWSProfileFile {
    /// Returns the values that some sections give to names, of several the last.
    ///
    /// - Parameters:
    ///   - text: The file.
    ///   - sections: The sections' names.
    ///   - names: The values' names, in lower case.
    /// - Returns: The values that are not empty.
    static func values(
        _ text: SecretBytes, sections: [String], _ names: Set<String>
    ) -> [String: SecretBytes] {
        text.withUnsafeBytes { bytes in
            var values: [String: SecretBytes] = [:]
            var isInside = false
            for line in bytes.split(whereSeparator: { $0 == newline || $0 == carriageReturn }) {
                // Lines that begin with a space belong to the value before, which is none of these.
                guard let first = line.first, !isSpace(first), !isComment(first) else { continue }
                if first == UInt8(ascii: "[") {
                    let title = line.dropFirst().prefix { $0 != UInt8(ascii: "]") }
                    isInside = sections.contains(words(title))
                    continue
                }
                guard isInside, let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
                    continue
                }
                let name = words(line[..<equals]).lowercased()
                let value = trimmed(line[line.index(after: equals)...])
                guard names.contains(name), !value.isEmpty else { continue }
                values[name] = SecretBytes(copying: UnsafeRawBufferPointer(rebasing: value))
            }
            return values
        }
    }

    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static func isComment(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";")
    }

    /// Returns text without secrets, with one space between its words.
    private static func words(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        bytes.split(whereSeparator: isSpace).map { String(decoding: $0, as: UTF8.self) }
            .joined(separator: " ")
    }

    /// Returns a value without the spaces around it, and without a comment after a space.
    private static func trimmed(
        _ bytes: Slice<UnsafeRawBufferPointer>
    ) -> Slice<UnsafeRawBufferPointer> {
        var value = bytes.drop(while: isSpace)
        if let comment = value.indices.first(where: {
            isComment(value[$0]) && $0 > value.startIndex && isSpace(value[value.index(before: $0)])
        }) {
            value = value[..<comment]
        }
        while let last = value.last, isSpace(last) { value = value.dropLast() }
        return value
    }
}
