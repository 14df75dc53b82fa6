import Foundation

/// The mutants of which somebody has found out that no test can tell them from the original.
///
/// A text file: paragraphs of the file, the line of the source, the change, all as in the report,
/// and the reason.
struct EquivalentMutants {
    /// What `Site.identity` says of them.
    let identities: Set<String>

    /// - Throws: `Failure` for an entry without a reason.
    init(_ text: String) throws {
        var identities: Set<String> = []
        var entry: [String] = []
        for line in text.components(separatedBy: "\n") + [""] {
            if line.hasPrefix("#") { continue }
            if !line.trimmed.isEmpty {
                entry.append(line.trimmed)
                continue
            }
            guard !entry.isEmpty else { continue }
            guard entry.count > 3 else {
                throw Failure("no reason in an entry of equivalent mutants: \(entry[0])")
            }
            identities.insert(entry[..<3].joined(separator: "\n"))
            entry = []
        }
        self.identities = identities
    }
}
