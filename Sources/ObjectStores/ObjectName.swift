/// The rule for object names, which every store can support.
///
/// A name has components separated by `/`. A component has 1 to 200 of the characters a to z, 0 to
/// 9, `-`, `_` and `.`, and does not begin with a dot. No capitals, since a file system may not
/// distinguish them. A name has at most 600 bytes, and an object's name is not the beginning of
/// another's up to a `/`: `a` and `a/b` do not exist together.
public enum ObjectName {
    /// Checks whether `name` follows the rule.
    ///
    /// - Parameter name: Any text.
    /// - Returns: Whether it does.
    public static func isValid(_ name: String) -> Bool {
        name.utf8.count <= 600
            && name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
                .allSatisfy(isComponent)
    }

    /// Checks a name.
    ///
    /// - Parameter name: Any text.
    /// - Throws: ``StoreError/invalidName(_:)``.
    public static func check(_ name: String) throws {
        guard isValid(name) else { throw StoreError.invalidName(name) }
    }

    /// Checks the beginning of names, which may end anywhere.
    ///
    /// - Parameter prefix: Any text.
    /// - Throws: ``StoreError/invalidName(_:)``.
    public static func check(prefix: String) throws {
        guard prefix.isEmpty || isValid(prefix) || isValid(prefix + "a") else {
            throw StoreError.invalidName(prefix)
        }
    }

    private static func isComponent(_ component: Substring.UTF8View) -> Bool {
        (1...200).contains(component.count) && component.first != UInt8(ascii: ".")
            && component.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
