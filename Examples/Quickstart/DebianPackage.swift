/// One package of the list: its fields as written there, and the values parsed from them.
struct DebianPackage: Sendable, Hashable {
    /// A field: `Section: admin`, or several lines.
    struct Field: Sendable, Hashable {
        let name: String
        /// The lines, separated by `\n`, without the space that begins every line but the first.
        var value: String
    }

    let name: String
    let fields: [Field]

    /// - Returns: nil without a field `Package`: then the stanza describes something else.
    init?(fields: [Field]) {
        self.fields = fields
        guard let name = Self.value(of: "Package", in: fields), !name.isEmpty else { return nil }
        self.name = name
    }

    var version: String? { self["Version"] }
    var architecture: String? { self["Architecture"] }
    var section: String? { self["Section"] }
    var priority: String? { self["Priority"] }
    var maintainer: String? { self["Maintainer"] }

    /// The size in KiB, as in `dpkg`.
    var installedSize: Int? { self["Installed-Size"].flatMap { Int($0) } }

    /// The first line of the description.
    var summary: String? {
        self["Description"].map { String($0.prefix { !$0.isNewline }) }
    }

    /// The description with its empty lines, which the format represents as a dot.
    var description: String? {
        self["Description"].map { text in
            text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0 == "." ? "" : $0 }
                .joined(separator: "\n")
        }
    }

    /// The packages that this one needs, each once: `Depends` and `Pre-Depends` without versions
    /// and architectures.
    ///
    /// For alternatives (`a | b`) it is the first one, which `apt` prefers.
    var dependencies: [String] {
        var names: [String] = []
        for relation in [self["Pre-Depends"], self["Depends"]].compactMap({ $0 }) {
            for group in relation.split(separator: ",") {
                guard let first = group.split(separator: "|").first else { continue }
                // `libc6:any (>= 2.36) [amd64] <!nocheck>`
                let name =
                    first
                    .drop { $0.isWhitespace }
                    .prefix { !$0.isWhitespace && !":([<".contains($0) }
                if !name.isEmpty { names.append(String(name)) }
            }
        }
        var known: Set<String> = []
        return names.filter { known.insert($0).inserted }
    }

    /// The value of a field; names are case-insensitive.
    private subscript(name: String) -> String? { Self.value(of: name, in: fields) }

    private static func value(of name: String, in fields: [Field]) -> String? {
        let wanted = name.lowercased()
        return fields.first { $0.name == name || $0.name.lowercased() == wanted }?.value
    }
}
