internal import ArgumentParser

extension Tool {
    /// Refuses a first argument that is not a verb, and names the one that was probably meant.
    static func requireVerb(_ arguments: [String]) throws {
        let verbs = configuration.subcommands.map { $0._commandName } + ["help"]
        guard let word = arguments.first, !word.hasPrefix("-"), !verbs.contains(word) else {
            return
        }
        let nearest = verbs.min { distance(word, $0) < distance(word, $1) }
        let isNear = nearest.map { distance(word, $0) <= max(1, word.count / 3) } ?? false
        throw Failure.usage(
            "there is no verb \"\(word)\"",
            hint: isNear
                ? nearest.map { "did you mean \"\($0)\"?" } : "securestorage --help lists them")
    }

    /// Returns how many letters have to be added, removed, changed or swapped with the next one to
    /// make one word of the other (the optimal string alignment distance).
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one), Array(other))
        var rows = [Array(0...other.count)]
        for i in 0..<one.count {
            var row = [i + 1]
            for j in 0..<other.count {
                var least = min(
                    rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (one[i] == other[j] ? 0 : 1))
                if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] {
                    least = min(least, rows[i - 1][j - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[one.count][other.count]
    }
}
