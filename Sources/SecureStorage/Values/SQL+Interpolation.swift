public import Foundation

extension SQL {
    /// Gathers the text and the values of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        @usableFromInline var pieces: [Piece] = []
        @usableFromInline var extras = Extras()
        /// The text since the last value.
        @usableFromInline var text: String?

        /// Called by the compiler.
        @inlinable
        public init(literalCapacity: Int, interpolationCount: Int) {
            pieces.reserveCapacity(interpolationCount + 1)
        }

        /// Called by the compiler.
        @inlinable
        public mutating func appendLiteral(_ literal: String) {
            endText()
            text = literal
        }

        /// Binds a value; a `Date` is REAL.
        @inlinable
        public mutating func appendInterpolation<Value: SQLiteDatatypeBridgeable>(_ value: Value) {
            if value is Date {
                appendAny(value)
            } else {
                do { append(try value.sqliteValue) } catch { fail(error) }
            }
        }

        /// Binds a value; nil is NULL, a `Date` REAL.
        @inlinable
        public mutating func appendInterpolation<Value: SQLiteDatatypeBridgeable>(_ value: Value?) {
            if let value { appendInterpolation(value) } else { append(.null) }
        }

        /// Binds a value of any type; nil is NULL, a `Date` REAL.
        @_disfavoredOverload
        public mutating func appendInterpolation(_ value: (any SQLiteDatatypeBridgeable)?) {
            appendAny(value)
        }

        /// Binds bytes, a BLOB.
        public mutating func appendInterpolation(_ bytes: [UInt8]) { append(.blob(Data(bytes))) }

        /// Binds bytes, a BLOB.
        public mutating func appendInterpolation(_ bytes: Data) { append(.blob(bytes)) }

        /// Binds bytes, a BLOB.
        public mutating func appendInterpolation(_ bytes: ArraySlice<UInt8>) {
            append(.blob(Data(bytes)))
        }

        /// Binds each of the values, in parentheses: `()` for none, which no value is in.
        @inlinable
        public mutating func appendInterpolation<Values: Collection>(_ values: Values)
        where Values.Element: SQLiteDatatypeBridgeable {
            var separator = "("
            for value in values {
                appendLiteral(separator)
                appendInterpolation(value)
                separator = ", "
            }
            appendLiteral(separator == "(" ? "()" : ")")
        }

        /// Inserts another part with its values.
        @_disfavoredOverload  // a literal is a value
        public mutating func appendInterpolation(_ part: SQL) {
            endText()
            part.append(to: &pieces, &extras)
        }

        /// Inserts a text as it is.
        ///
        /// - Parameter text: SQL, never from a user.
        public mutating func appendInterpolation(raw text: String) { appendLiteral(text) }

        @usableFromInline
        mutating func appendAny(_ value: (any SQLiteDatatypeBridgeable)?) {
            append(extras.stored(value))
        }

        @inlinable
        mutating func append(_ value: SQLiteValue) {
            pieces.append(Piece(text: text ?? "", value: value, kind: .value))
            text = nil
        }

        @inlinable
        mutating func endText() {
            if let text { pieces.append(Piece(text: text)) }
            text = nil
        }

        var allPieces: [Piece] {
            guard let text, !text.isEmpty || pieces.isEmpty else { return pieces }
            return pieces + [Piece(text: text)]
        }

        @usableFromInline
        mutating func fail(_ error: any Error) {
            extras.failure = extras.failure ?? error
            append(.null)
        }
    }
}
