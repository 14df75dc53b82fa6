/// A place in a source that a rule can change.
struct Site: Hashable, Sendable {
    /// The path below the root of the tree.
    let file: String
    /// The numbers of its lines, from 1.
    let lines: ClosedRange<Int>
    /// The first of these lines, without its indentation.
    let sourceLine: String
    let rule: Rule
    /// What the mutant does.
    let change: String
    /// 1, or more for a later one of the file with the same change in an equal line.
    let occurrence: Int
    /// Its bytes in the UTF-8 of the file.
    let bytes: Range<Int>
    let form: Form

    /// How the source decides between what was there and the change.
    enum Form: Hashable, Sendable {
        case choice(String)
        case negation
        case removal
        /// nil is returned in the place of an expression, before which `return` may be left out.
        case nilResult(saysReturn: Bool)
    }

    /// The name of its module: the folder in Sources.
    var library: String { file.split(separator: "/").dropFirst().first.map(String.init) ?? "" }

    /// The words of its line, and of the name of its file.
    var words: Set<String> {
        sourceLine.words.union(file.split(separator: "/").last?.words ?? [])
    }

    /// Tells it from other sites, also after edits elsewhere in the file.
    var identity: String { "\(file)\n\(sourceLine)\n\(effect)" }

    /// Its rule and what that does there.
    var effect: String {
        "\(rule.rawValue): \(change)\(occurrence > 1 ? " (the \(occurrence). in such a line)" : "")"
    }

    /// The text before and after what was there, so that the mutant of a number decides.
    ///
    /// What was there may have other mutants inside. The change does not, since only one mutant is
    /// on at a time. Neither text has a line break: the lines of a source keep their numbers.
    func text(number: Int) -> (before: String, after: String) {
        let isOn = "isMutant(\(number))"
        return switch form {
        case .choice(let change): ("(\(isOn) ? (\(change)) : (", "))")
        case .negation: ("(\(isOn) != (", "))")
        case .removal: ("if !\(isOn) { ", " }")
        case .nilResult(let saysReturn):
            ("if \(isOn) { return nil }; \(saysReturn ? "" : "return ")", "")
        }
    }
}

/// A site and its number in a run: the argument of `isMutant` there.
struct Mutant: Hashable, Sendable {
    let number: Int
    let site: Site
}

/// Returns a source with its mutants in it.
func instrumented(_ source: String, _ mutants: [Mutant]) -> String {
    // One ends before another begins, and those that are inside of others begin last, end first.
    struct Insertion {
        let order: [Int]
        let text: String
    }
    let insertions = mutants.flatMap { mutant in
        let (before, after) = mutant.site.text(number: mutant.number)
        let bytes = mutant.site.bytes
        return [
            Insertion(
                order: [bytes.lowerBound, 1, -bytes.upperBound, mutant.number], text: before),
            Insertion(
                order: [bytes.upperBound, 0, -bytes.lowerBound, -mutant.number], text: after),
        ]
    }
    let bytes = Array(source.utf8)
    var result: [UInt8] = []
    var position = 0
    for insertion in insertions.sorted(by: { $0.order.lexicographicallyPrecedes($1.order) }) {
        result += bytes[position..<insertion.order[0]]
        result += Array(insertion.text.utf8)
        position = insertion.order[0]
    }
    result += bytes[position...]
    return String(decoding: result, as: UTF8.self)
}
