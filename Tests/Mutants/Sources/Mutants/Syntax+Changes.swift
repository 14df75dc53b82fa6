import SwiftSyntax

// What the rules ask about syntax.

extension SyntaxProtocol {
    /// The beginning of its text, in one line.
    var start: String { trimmedDescription.shortened }

    /// The nearest node around this one for which `body` has a result.
    func around<Result>(_ body: (Syntax) -> Result?) -> Result? {
        var node = parent
        while let current = node {
            if let result = body(current) { return result }
            node = current.parent
        }
        return nil
    }
}

extension InfixOperatorExprSyntax {
    /// Its text in one line, with another operator; nil where a line break has a meaning.
    func oneLine(_ sign: TokenSyntax, _ other: String) -> String? {
        let start = positionAfterSkippingLeadingTrivia.utf8Offset
        let bytes = Array(trimmedDescription.utf8)
        let offset = sign.positionAfterSkippingLeadingTrivia.utf8Offset - start
        let text =
            String(decoding: bytes[..<offset], as: UTF8.self) + other
            + String(decoding: bytes[(offset + sign.text.utf8.count)...], as: UTF8.self)
        guard text.contains("\n") else { return text }
        guard !["{", "//", "\"\"\""].contains(where: { text.contains($0) }) else { return nil }
        return text.split(separator: "\n").map(\.trimmed).joined(separator: " ")
    }

    /// Whether the operator stands between texts or lists, as far as literals tell.
    var joinsTexts: Bool {
        [leftOperand, rightOperand].contains { operand in
            let isLiteral =
                operand.is(StringLiteralExprSyntax.self) || operand.is(ArrayExprSyntax.self)
            return isLiteral || operand.as(InfixOperatorExprSyntax.self)?.joinsTexts == true
        }
    }
}

extension IntegerLiteralExprSyntax {
    /// The number beside this one that its type certainly has: below a mask, above a zero.
    var neighbour: String? {
        let text = literal.text.filter { $0 != "_" }
        let digits = text.dropFirst(2)
        let number: UInt64? =
            switch text.prefix(2) {
            case "0x": UInt64(digits, radix: 16)
            case "0b": UInt64(digits, radix: 2)
            case "0o": UInt64(digits, radix: 8)
            default: UInt64(text)
            }
        guard let number else { return nil }
        let isDecimal = text.allSatisfy(\.isNumber)
        return "\(number == 0 || isDecimal && number < 127 ? number + 1 : number - 1)"
    }

    /// Whether it is one of many in a list, such as those of a table.
    var isOfTable: Bool {
        parent?.parent?.as(ArrayElementListSyntax.self).map { $0.count > 16 } ?? false
    }
}

extension ConditionElementSyntax {
    var isExpression: Bool { condition.is(ExprSyntax.self) }
}

extension CodeBlockSyntax {
    var throwsAtEnd: Bool { statements.last?.item.is(ThrowStmtSyntax.self) ?? false }
}

extension CodeBlockItemSyntax {
    /// Whether it is all that a function, a getter or a closure has: its value may be the result.
    var isOnlyResult: Bool {
        guard let list = parent?.as(CodeBlockItemListSyntax.self), list.count == 1,
            let place = list.parent
        else { return false }
        if place.is(ClosureExprSyntax.self) { return true }
        if let block = place.as(AccessorBlockSyntax.self) { return block.isGetter }
        guard let block = place.as(CodeBlockSyntax.self), let owner = block.parent else {
            return false
        }
        if let accessor = owner.as(AccessorDeclSyntax.self) {
            return accessor.accessorSpecifier.text == "get"
        }
        guard let function = owner.as(FunctionDeclSyntax.self) else { return false }
        return function.signature.returnClause != nil
    }
}

extension AccessorBlockSyntax {
    var isGetter: Bool {
        if case .getter = accessors { true } else { false }
    }
}

extension ExprSyntax {
    /// The call that it is, without `try` and `await`.
    var call: FunctionCallExprSyntax? {
        if let attempt = self.as(TryExprSyntax.self) { return attempt.expression.call }
        if let pause = self.as(AwaitExprSyntax.self) { return pause.expression.call }
        return self.as(FunctionCallExprSyntax.self)
    }

    /// Whether it is a result in the place of which a function, or a getter, could return nil.
    var canBeNil: Bool {
        guard !self.is(NilLiteralExprSyntax.self), !self.is(IfExprSyntax.self),
            !self.is(SwitchExprSyntax.self)
        else { return false }
        let result: TypeSyntax?? = around { node in
            if node.is(ClosureExprSyntax.self) || node.is(InitializerDeclSyntax.self) {
                return .some(nil)
            }
            if let function = node.as(FunctionDeclSyntax.self) {
                return .some(function.signature.returnClause?.type)
            }
            if let subscripting = node.as(SubscriptDeclSyntax.self) {
                return .some(subscripting.returnClause.type)
            }
            guard let binding = node.as(PatternBindingSyntax.self) else { return nil }
            return .some(binding.accessorBlock == nil ? nil : binding.typeAnnotation?.type)
        }
        return result??.is(OptionalTypeSyntax.self) ?? false
    }
}
