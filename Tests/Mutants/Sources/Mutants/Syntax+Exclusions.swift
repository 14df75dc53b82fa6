import SwiftSyntax

// What has no mutants: what tests do not run, and texts for people.

extension IfConfigClauseSyntax {
    /// Whether a test build on Linux has this branch.
    var isCompiled: Bool {
        guard let clauses = parent?.as(IfConfigClauseListSyntax.self) else { return true }
        for clause in clauses where clause.condition.map(Self.isTrue) ?? true {
            return clause == self
        }
        return false
    }

    /// True on Linux, with the traits of Scripts/build-flags.
    private static let facts: Set<String> = [
        "os(Linux)", "canImport(Glibc)", "canImport(FoundationNetworking)",
        "canImport(FoundationXML)", "Metrics", "PostgreSQL", "Tracing",
    ]

    private static func isTrue(_ condition: ExprSyntax) -> Bool {
        if let negation = condition.as(PrefixOperatorExprSyntax.self) {
            return !isTrue(negation.expression)
        }
        guard let pair = condition.as(InfixOperatorExprSyntax.self) else {
            return facts.contains(condition.trimmedDescription)
        }
        return pair.operator.trimmedDescription == "&&"
            ? isTrue(pair.leftOperand) && isTrue(pair.rightOperand)
            : isTrue(pair.leftOperand) || isTrue(pair.rightOperand)
    }
}

extension VariableDeclSyntax {
    /// Whether it is a text for people, such as `errorDescription`.
    var describes: Bool {
        bindings.contains { binding in
            let name = binding.pattern.trimmedDescription
            return name.hasSuffix("escription") || name == "customMirror" || name == "summary"
        }
    }
}

extension FunctionCallExprSyntax {
    private var name: String {
        calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
            ?? calledExpression.trimmedDescription
    }

    /// Whether it is a message for a log, or reached only by a mistake in the library.
    var isForDevelopers: Bool {
        let assertions = [
            "assert", "assertionFailure", "fatalError", "precondition", "preconditionFailure",
        ]
        let logged = calledExpression.as(MemberAccessExprSyntax.self)?.base?.trimmedDescription
        return assertions.contains(name) || logged?.hasSuffix("logger") == true || name == "logger"
    }

    /// Whether it has to be there: an initializer calls another one, and a branch has a value.
    var hasToStay: Bool {
        let isValue = calledExpression.as(MemberAccessExprSyntax.self).map { $0.base == nil }
        return isForDevelopers || name == "init" || isValue == true
    }
}

extension StringLiteralExprSyntax {
    /// Whether it is in the message of an error that is thrown there.
    var isOfError: Bool {
        around { node in
            if node.is(ThrowStmtSyntax.self) { return true }
            return node.is(CodeBlockItemListSyntax.self) ? false : nil
        } ?? false
    }
}
