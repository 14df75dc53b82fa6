public import Foundation

// Functions and collations live as long as the store object, even if the store is closed and
// reopened. The store retains their closures, so a closure that uses the store must capture it
// `unowned` or `weak`.

extension SecureDatabaseStore {
    /// Registers a function that SQL can call, replacing one of the same name and number of
    /// arguments.
    ///
    /// The closure runs on the statement's thread, in the middle of that statement. It may run
    /// other statements on this store, but it must not close the store, change its key or begin a
    /// transaction block. A function with a built-in name hides the built-in one until the store is
    /// reopened without it.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8 without NUL; SQL ignores the case of its ASCII letters.
    ///   - argumentCount: 0 to 127; nil for any number.
    ///   - isDeterministic: Whether equal arguments always give equal results. Required for
    ///     indexes.
    ///   - isInnocuous: Whether the schema may call it, in views, triggers, indexes, CHECK, DEFAULT
    ///     and generated columns. A file from an untrusted source could then call it with arguments
    ///     of its choice; otherwise, only this program's statements can call it.
    ///   - body: Receives the arguments; nil is NULL. Text is passed by length, including any NUL.
    ///     If it throws a ``SecureDatabaseFunctionError``, the statement fails with
    ///     `.backingStoreError` and that error's message and code. Any other error gives code
    ///     `.error` and names only the function and the error's type; so do text that is not valid
    ///     UTF-8 and a result such as a `UInt64` above `Int64.max`. A result over
    ///     ``SecureDatabaseLimit/length`` gives code `.tooBig`.
    /// - Throws: `.backingStoreError`: code `.misuse` for an invalid name, code `.range` for an
    ///   invalid number of arguments; code `.busy` when it would replace a function while a
    ///   statement runs, including one that calls that function.
    ///
    /// The corresponding C function is
    /// [`sqlite3_create_function_v2`](https://sqlite.org/c3ref/create_function.html).
    public func makeFunction(
        named name: String, argumentCount: Int? = nil, isDeterministic: Bool = false,
        isInnocuous: Bool = false,
        _ body: @escaping (_ arguments: [SQLiteValue]) throws -> (any SQLiteDatatypeBridgeable)?
    ) throws {
        try make(
            SQLFunction(
                signature: .init(name, argumentCount), isDeterministic: isDeterministic,
                isInnocuous: isInnocuous, body: .scalar(body)))
    }

    /// Registers an aggregate function that SQL can call, such as `sum`.
    ///
    /// Like ``makeFunction(named:argumentCount:isDeterministic:isInnocuous:_:)``; cannot be used
    /// with OVER.
    ///
    /// - Parameters:
    ///   - name: As for that method.
    ///   - argumentCount: As for that method.
    ///   - isInnocuous: As for that method.
    ///   - initial: Evaluated once per group of rows. The state is freed with its group, even when
    ///     the statement ends early.
    ///   - step: Called with the group's state for each row of the group.
    ///   - final: Returns the result of a group, including one without rows. It may also be called,
    ///     with its result discarded, when the statement fails elsewhere.
    /// - Throws: Same as that method.
    public func makeAggregate<State>(
        named name: String, argumentCount: Int? = nil, isInnocuous: Bool = false,
        initial: @autoclosure @escaping () -> State,
        step: @escaping (_ state: inout State, _ arguments: [SQLiteValue]) throws -> Void,
        final: @escaping (_ state: State) throws -> (any SQLiteDatatypeBridgeable)?
    ) throws {
        try make(
            SQLFunction(
                signature: .init(name, argumentCount), isDeterministic: false,
                isInnocuous: isInnocuous,
                body: .aggregate { StateAccumulator(initial(), step: step, final: final) }))
    }

    private func make(_ function: SQLFunction) throws {
        if isOpen() { try openConnection().install(function) }
        extensions.functions[function.signature] = function
    }

    /// Removes a function that was registered with this name and number of arguments.
    ///
    /// - Parameters:
    ///   - name: Matched ignoring the case of ASCII letters.
    ///   - argumentCount: The value it was registered with; nil only matches nil.
    /// - Throws: `.backingStoreError`: code `.error` when no such function was registered; code
    ///   `.busy` while a statement runs, including one that has called this function.
    public func removeFunction(named name: String, argumentCount: Int? = nil) throws {
        let signature = try SQLFunction.Signature(name, argumentCount)
        guard extensions.functions[signature] != nil else {
            throw SecureStorageError.statementFailed(
                .error,
                "no function \(name) was created with "
                    + (argumentCount.map { "\($0) arguments" } ?? "any number of arguments"))
        }
        if isOpen() { try openConnection().remove(signature) }
        extensions.functions[signature] = nil
    }

    // MARK: - Collations

    /// Registers a text ordering that SQL can name, as in `ORDER BY name COLLATE german`.
    ///
    /// An index keeps the order it was built with: after changing the ordering, run REINDEX, and
    /// never write to such a file from a store without the collation. The schema of a file may use
    /// it.
    ///
    /// - Parameters:
    ///   - name: As for a function; not BINARY, NOCASE or RTRIM.
    ///   - compare: Must be consistent and define a total order. It cannot fail and cannot use the
    ///     store: statements in it fail with code `.misuse`. Texts that are not valid UTF-8 are not
    ///     passed to it; they sort last.
    /// - Throws: `.backingStoreError`: code `.misuse` for an invalid name; code `.busy` when it
    ///   would replace a collation while a statement runs.
    ///
    /// The corresponding C function is
    /// [`sqlite3_create_collation_v2`](https://sqlite.org/c3ref/create_collation.html).
    public func makeCollation(
        named name: String, _ compare: @escaping (String, String) -> ComparisonResult
    ) throws {
        let name = try SQLName(name, of: "collation")
        for builtIn in ["BINARY", "NOCASE", "RTRIM"] where try name == SQLName(builtIn, of: "") {
            throw SecureStorageError.statementFailed(
                .misuse,
                "the collation \(builtIn) is built in, and the order of every index relies on it")
        }
        let collation = SQLCollation(name: name, compare: compare)
        if isOpen() { try openConnection().install(collation) }
        extensions.collations[name] = collation
    }

    /// Removes a collation that was registered with this name.
    ///
    /// - Parameter name: Matched ignoring the case of ASCII letters.
    /// - Throws: `.backingStoreError`: code `.error` when no such collation was registered; code
    ///   `.busy` while a statement runs.
    public func removeCollation(named name: String) throws {
        let name = try SQLName(name, of: "collation")
        guard extensions.collations[name] != nil else {
            throw SecureStorageError.statementFailed(
                .error, "no collation \(name.text) was created")
        }
        if isOpen() { try openConnection().removeCollation(name) }
        extensions.collations[name] = nil
    }
}
