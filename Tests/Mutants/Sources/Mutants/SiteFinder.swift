import SwiftOperators
import SwiftParser
import SwiftSyntax

/// Finds the sites of one source.
final class SiteFinder: SyntaxVisitor {
    private let file: String
    private let lines: [Substring]
    private let converter: SourceLocationConverter
    private var sites: [Site] = []
    private var occurrences: [String: Int] = [:]

    /// Returns the sites of a source, in its order.
    static func sites(in source: String, file: String) -> [Site] {
        let tree = OperatorTable.standardOperators.foldAll(Parser.parse(source: source)) { _ in }
        let finder = SiteFinder(tree, source: source, file: file)
        finder.walk(tree)
        return finder.sites.sorted {
            ($0.bytes.lowerBound, $0.rule.rawValue) < ($1.bytes.lowerBound, $1.rule.rawValue)
        }
    }

    private init(_ tree: Syntax, source: String, file: String) {
        self.file = file
        lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        converter = SourceLocationConverter(fileName: file, tree: tree)
        super.init(viewMode: .sourceAccurate)
    }

    private func add(
        _ rule: Rule, _ node: some SyntaxProtocol, _ form: Site.Form, _ change: String
    ) {
        let first = node.positionAfterSkippingLeadingTrivia
        let last = node.endPositionBeforeTrailingTrivia
        let line = converter.location(for: first).line
        let text = lines[line - 1].trimmed
        let occurrence = occurrences["\(rule) \(change) \(text)", default: 0] + 1
        occurrences["\(rule) \(change) \(text)"] = occurrence
        sites.append(
            Site(
                file: file, lines: line...converter.location(for: last).line,
                sourceLine: text, rule: rule, change: change,
                occurrence: occurrence, bytes: first.utf8Offset..<last.utf8Offset, form: form))
    }

    /// Adds a site where an expression is replaced by another one.
    private func replace(_ rule: Rule, _ node: some SyntaxProtocol, _ change: String) {
        add(rule, node, .choice(change), "\(change.shortened) for \(node.start)")
    }

    // MARK: - Expressions

    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        guard let sign = node.operator.as(BinaryOperatorExprSyntax.self)?.operator else {
            return .visitChildren
        }
        for (rule, operators) in Rule.operators {
            guard let other = operators[sign.text] else { continue }
            if rule == .equality {
                add(rule, node, .negation, "\(other) in \(node.start)")
            } else if !node.joinsTexts, let text = node.oneLine(sign, other) {
                replace(rule, node, text)
            }
        }
        return .visitChildren
    }

    override func visit(_ node: IntegerLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        guard !node.isOfTable, let change = node.neighbour else { return .skipChildren }
        replace(.integer, node, change)
        return .skipChildren
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        // The compiler knows that nothing follows a loop with no other condition.
        guard node.parent?.parent?.parent?.is(WhileStmtSyntax.self) != true else {
            return .skipChildren
        }
        replace(.truth, node, node.literal.text == "true" ? "false" : "true")
        return .skipChildren
    }

    // MARK: - Conditions

    override func visit(_ node: ConditionElementSyntax) -> SyntaxVisitorContinueKind {
        guard case .expression(let condition) = node.condition else { return .visitChildren }
        negate(condition)
        let statement = node.parent?.parent
        if let statement = statement?.as(GuardStmtSyntax.self), statement.body.throwsAtEnd {
            replace(.check, condition, "true")
        }
        if let statement = statement?.as(IfExprSyntax.self), statement.body.throwsAtEnd,
            statement.conditions.first(where: { $0.isExpression }) == node
        {
            replace(.check, condition, "false")
        }
        return .visitChildren
    }

    override func visit(_ node: RepeatStmtSyntax) -> SyntaxVisitorContinueKind {
        negate(node.condition)
        return .visitChildren
    }

    override func visit(_ node: WhereClauseSyntax) -> SyntaxVisitorContinueKind {
        negate(node.condition)
        return .visitChildren
    }

    override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
        negate(node.condition)
        return .visitChildren
    }

    private func negate(_ condition: ExprSyntax) {
        // Equalities and literals have rules of their own, to the same effect.
        let sign = condition.as(InfixOperatorExprSyntax.self)?.operator.trimmedDescription
        guard Rule.operators[.equality]?[sign ?? ""] == nil,
            !condition.is(BooleanLiteralExprSyntax.self)
        else { return }
        add(.condition, condition, .negation, "not \(condition.start)")
    }

    // MARK: - Statements

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        guard case .expr(let expression) = node.item else { return .visitChildren }
        let isResult = node.isOnlyResult
        if isResult, expression.canBeNil {
            add(.nothing, expression, .nilResult(saysReturn: false), "nil for \(expression.start)")
        } else if !isResult, let call = expression.call, !call.hasToStay {
            add(.call, expression, .removal, "no \(call.calledExpression.start)")
        }
        return .visitChildren
    }

    override func visit(_ node: ReturnStmtSyntax) -> SyntaxVisitorContinueKind {
        if let expression = node.expression, expression.canBeNil {
            add(.nothing, node, .nilResult(saysReturn: true), "nil for \(expression.start)")
        }
        return .visitChildren
    }

    // MARK: - What is left out

    override func visit(_ node: AttributeSyntax) -> SyntaxVisitorContinueKind { .skipChildren }

    override func visit(_ node: IfConfigClauseSyntax) -> SyntaxVisitorContinueKind {
        // Not its condition, which the compiler needs to know.
        if node.isCompiled, let elements = node.elements { walk(elements) }
        return .skipChildren
    }

    override func visit(_ node: EnumCaseElementSyntax) -> SyntaxVisitorContinueKind {
        .skipChildren
    }

    override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
        node.describes ? .skipChildren : .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        node.isForDevelopers ? .skipChildren : .visitChildren
    }

    override func visit(_ node: StringLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        node.isOfError ? .skipChildren : .visitChildren
    }
}
