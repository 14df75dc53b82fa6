/// How a source is changed: the usual operators of mutation testing.
enum Rule: String, CaseIterable, Sendable {
    /// `<` for `<=`, `>` for `>=`, and the reverse.
    case boundary
    /// `==` for `!=`, and the reverse.
    case equality
    /// `&&` for `||`, and the reverse.
    case logic
    /// The opposite of a condition that is no equality.
    case condition
    /// `+` for `-`, `*` for `/`, `&` for `|`, `<<` for `>>`, and the reverse.
    case arithmetic
    /// Another integer, by one.
    case integer
    /// `true` for `false`, and the reverse.
    case truth
    /// A statement that only calls is left out.
    case call
    /// A condition that makes the code throw never does.
    case check
    /// nil in the place of a result.
    case nothing

    /// The operators that replace each other, by the rule.
    static let operators: [Rule: [String: String]] = [
        .boundary: ["<": "<=", "<=": "<", ">": ">=", ">=": ">"],
        .equality: ["==": "!=", "!=": "==", "===": "!==", "!==": "==="],
        .logic: ["&&": "||", "||": "&&"],
        .arithmetic: [
            "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&": "|", "|": "&", "^": "&",
            "<<": ">>", ">>": "<<", "&+": "&-", "&-": "&+", "&*": "&+", "&<<": "&>>",
            "&>>": "&<<", "+=": "-=", "-=": "+=", "*=": "+=", "|=": "&=", "&=": "|=",
            "&+=": "&-=", "&-=": "&+=",
        ],
    ]
}
