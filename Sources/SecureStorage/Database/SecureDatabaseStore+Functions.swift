public import Foundation

// Functions and collations last as long as the store object, also through closing and opening it.
// The store keeps their closures, so a closure that uses the store captures it `unowned` or `weak`.

extension SecureDatabaseStore {
    /// Makes a function that SQL can call, in place of one of the same name and number of
    /// arguments.
    ///
    /// The closure runs on the thread of the statement, in the middle of it. There it may run other
    /// statements on this store, but neither close it, nor change its key, nor begin a transaction
    /// block. Of a built-in name, the built-in function is hidden until the store is opened again
    /// without this one.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8 without NUL; SQL ignores the case of its ASCII letters.
    ///   - argumentCount: 0 to 127; nil for any number.
    ///   - isDeterministic: Whether equal arguments always give equal results. Required for
    ///     indexes.
    ///   - isInnocuous: Whether the schema may call it, in views, triggers, indexes, CHECK, DEFAULT
    ///     and generated columns. A file from elsewhere could call it with arguments of its own
    ///     then; without it, only statements of this program can.
    ///   - body: Gets the arguments; nil is NULL. Text arrives by length, with any NUL in it. A
    ///     ``SecureDatabaseFunctionError`` that it throws ends the statement with
    ///     `.backingStoreError`, its message and its code; any other error with code 1, which names
    ///     the function and the type of the error only; so does text that is not UTF-8, and a
    ///     result like a `UInt64` above `Int64.max`. A result over ``SecureDatabaseLimit/length``
    ///     is code 18.
    /// - Throws: `.backingStoreError`: code 21 for a name and 25 for a number of arguments that
    ///   cannot be; code 5 while a statement runs, also this function's, and there is such a
    ///   function.
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

    /// Makes an aggregate function that SQL can call, such as `sum`.
    ///
    /// As ``makeFunction(named:argumentCount:isDeterministic:isInnocuous:_:)``; not usable with
    /// OVER.
    ///
    /// - Parameters:
    ///   - name: As there.
    ///   - argumentCount: As there.
    ///   - isInnocuous: As there.
    ///   - initial: Evaluated anew for each group of rows, and freed with it, also when the
    ///     statement ends early.
    ///   - step: Called for each row of a group with its state.
    ///   - final: Makes the result of a group, also of one without rows. It may also be called, for
    ///     nothing, when the statement fails elsewhere.
    /// - Throws: As there.
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

    /// Removes a function that was made with this name and number of arguments.
    ///
    /// - Parameters:
    ///   - name: In any case of its ASCII letters.
    ///   - argumentCount: As it was made with; nil is a number of its own here.
    /// - Throws: `.backingStoreError`: code 1 when there is none; code 5 while a statement runs,
    ///   also the one that has called this function.
    public func removeFunction(named name: String, argumentCount: Int? = nil) throws {
        let signature = try SQLFunction.Signature(name, argumentCount)
        guard extensions.functions[signature] != nil else {
            throw SecureStorageError.statementFailed(
                .error,
                "no function \(name) was made with "
                    + (argumentCount.map { "\($0) arguments" } ?? "any number of arguments"))
        }
        if isOpen() { try openConnection().remove(signature) }
        extensions.functions[signature] = nil
    }

    // MARK: - Collations

    /// Makes an order of texts that SQL can name, as in `ORDER BY name COLLATE german`.
    ///
    /// An index keeps the order that it was made with: after a change of the order, run REINDEX,
    /// and never open such a file without the collation to write to it. The schema of a file may
    /// use it.
    ///
    /// - Parameters:
    ///   - name: As of a function; not BINARY, NOCASE or RTRIM.
    ///   - compare: Always gives the same answer for two texts, and one that makes an order. It
    ///     cannot fail and cannot use the store: statements in it are errors, code 21. Texts that
    ///     are not UTF-8 do not arrive here, they come last.
    /// - Throws: `.backingStoreError`: code 21 for a name that cannot be; code 5 while a statement
    ///   runs and there is such a collation.
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

    /// Removes a collation that was made with this name.
    ///
    /// - Parameter name: In any case of its ASCII letters.
    /// - Throws: `.backingStoreError`: code 1 when there is none; code 5 while a statement runs.
    public func removeCollation(named name: String) throws {
        let name = try SQLName(name, of: "collation")
        guard extensions.collations[name] != nil else {
            throw SecureStorageError.statementFailed(
                .error, "no collation \(name.text) was made")
        }
        if isOpen() { try openConnection().removeCollation(name) }
        extensions.collations[name] = nil
    }
}
