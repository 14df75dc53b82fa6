package import Testing

// `#expect` and `#require` for plain conditions, as functions: the compiler needs eight times as
// long for the macros, and there are thousands. What only macros can do (`throws:`,
// `processExitsWith:`) is left to them.

/// Records an issue if a condition is false.
package func check(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation? = nil, file: StaticString = #fileID,
    path: StaticString = #filePath, line: Int = #line, column: Int = #column
) {
    guard !condition else { return }
    record("it is false", comment(), sourceLocation ?? location(file, path, line, column))
}

/// Records an issue, with both values, if they are not equal.
package func check<Value: Equatable>(
    _ actual: Value, equals expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation? = nil, file: StaticString = #fileID,
    path: StaticString = #filePath, line: Int = #line, column: Int = #column
) {
    guard actual != expected else { return }
    let values = "\(String(reflecting: actual)) does not equal \(String(reflecting: expected))"
    record(values, comment(), sourceLocation ?? location(file, path, line, column))
}

/// Returns a value; if it is nil, records an issue and ends the test.
package func require<Value>(
    _ value: Value?, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation? = nil, file: StaticString = #fileID,
    path: StaticString = #filePath, line: Int = #line, column: Int = #column
) throws -> Value {
    if let value { return value }
    record("it is nil", comment(), sourceLocation ?? location(file, path, line, column))
    throw RequirementFailed()
}

/// Records an issue and ends the test if a condition is false.
package func require(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation? = nil, file: StaticString = #fileID,
    path: StaticString = #filePath, line: Int = #line, column: Int = #column
) throws {
    if condition { return }
    record("it is false", comment(), sourceLocation ?? location(file, path, line, column))
    throw RequirementFailed()
}

/// Ends a test whose issue has been recorded.
private struct RequirementFailed: Error, CustomStringConvertible {
    var description: String { "the test cannot go on: see the issue before this one" }
}

private func location(
    _ file: StaticString, _ path: StaticString, _ line: Int, _ column: Int
) -> SourceLocation {
    SourceLocation(fileID: "\(file)", filePath: "\(path)", line: line, column: column)
}

private func record(_ what: String, _ comment: Comment?, _ location: SourceLocation) {
    let text = comment.map { "\(what): \($0.rawValue)" } ?? what
    Issue.record(Comment(rawValue: text), sourceLocation: location)
}
