/// The names of columns, of which SQLite holds those for equal that differ in the case of ASCII
/// letters only.
struct ColumnNames {
    /// The names as they are, by their folded forms.
    private var names: [String: String] = [:]

    /// Adds a column of a table or a file.
    ///
    /// - Returns: Its name: `column3` if the third one has none, and `name_2` if the name is taken.
    mutating func add(_ name: String) -> String {
        let free = free(name)
        names[Self.folded(free)] = free
        return free
    }

    /// Returns the name that a column of this name gets, which none of these has; nor has any of
    /// `others`, unless it is the name itself.
    func free(_ name: String, besides others: ColumnNames = ColumnNames()) -> String {
        let wanted = name.isEmpty ? "column\(max(names.count, others.names.count) + 1)" : name
        var result = wanted
        var number = 1
        while self[result] != nil || (number > 1 && others[result] != nil) {
            number += 1
            result = "\(wanted)_\(number)"
        }
        return result
    }

    /// Returns the column that has the name, in its own spelling.
    subscript(_ name: String) -> String? { names[Self.folded(name)] }

    private static func folded(_ name: String) -> String {
        var folded = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            folded.append(
                ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) + 32) : scalar)
        }
        return String(folded)
    }
}
