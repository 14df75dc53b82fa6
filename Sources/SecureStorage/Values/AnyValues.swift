internal import Foundation

/// Converts values whose types the compiler does not know for binding, as FMDB accepts them.
enum AnyValues {
    /// Returns the values in a form that can be bound.
    ///
    /// - Throws: `.backingStoreError` code `.mismatch`, which names the type and position
    ///   of the first value that cannot be bound.
    static func checked(_ values: [Any?]) throws -> [(any SQLiteDatatypeBridgeable)?] {
        try values.enumerated().map { offset, value in
            guard let value = unwrapped(value) else { return nil }
            guard let bound = bound(value) else {
                throw SecureStorageError.statementFailed(
                    .mismatch,
                    "value \(offset + 1) has type \(type(of: value)), which cannot be bound; convert it, or "
                        + "conform the type to SQLiteDatatypeBridgeable")
            }
            return bound
        }
    }

    /// Returns nil also for an empty optional inside an `Any`, and for `NSNull`.
    private static func unwrapped(_ value: Any?) -> Any? {
        guard let value, !(value is NSNull) else { return nil }
        guard let optional = value as? any AnyOptional else { return value }
        return unwrapped(optional.wrapped)
    }

    private static func bound(_ value: Any) -> (any SQLiteDatatypeBridgeable)? {
        switch value {
        case let value as any SQLiteDatatypeBridgeable: value
        case let text as NSString: text as String
        case let data as NSData: data as Data
        case let date as NSDate: date as Date
        case let number as NSDecimalNumber: number.decimalValue
        case let number as NSNumber: self.number(number)
        case let uuid as NSUUID: uuid as UUID
        case let url as NSURL: url as URL
        default: nil
        }
    }

    private static func number(_ number: NSNumber) -> any SQLiteDatatypeBridgeable {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"): number.doubleValue
        case UInt8(ascii: "Q"): number.uint64Value
        default: number.int64Value
        }
    }
}

/// An optional of any type.
private protocol AnyOptional {
    var wrapped: Any? { get }
}

extension Optional: AnyOptional {
    fileprivate var wrapped: Any? { self }
}
