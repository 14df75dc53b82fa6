/// Numbers with nouns, for people.
enum Counted {
    /// Returns `1 page` or `2 pages`; `many` is for a plural that does not only end in s.
    static func text(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }
}
