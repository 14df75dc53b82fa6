#if !canImport(ObjectiveC)
    internal import Foundation

    /// Builds the objects of a validated archive, and is the coder passed to their `init(coder:)`.
    ///
    /// Replaces `NSKeyedUnarchiver`, which on Linux ends the process for an object of a disallowed
    /// class, whatever its failure policy. This decoder records the first failure; every later call
    /// returns nil or 0, and ``decodeRoot(of:)`` throws.
    ///
    /// An object is built once, and its class is checked at each request.
    final class ArchiveDecoder: NSCoder {
        /// The state of the object being built.
        struct Context {
            var fields: [ByteString: PropertyListValue]
            var nextUnnamed = 0
        }

        /// Identifies a built collection, which is built again for other allowed classes.
        struct CollectionKey: Hashable {
            let uid: Int
            let allowed: [ObjectIdentifier]
        }

        let graph: ArchiveGraph
        private let isSecure: Bool
        var contexts: [Context] = []
        var allowed: [[AnyClass]] = []
        var objects: [Int: Any] = [:]
        var collections: [CollectionKey: Any] = [:]
        var hashing = HashingCheck()
        private var failure: (any Error)?

        /// Creates a decoder for one archive.
        ///
        /// - Parameters:
        ///   - graph: The archive.
        ///   - isSecure: Whether an object of the app must be requested by its class.
        init(_ graph: ArchiveGraph, isSecure: Bool) {
            self.graph = graph
            self.isSecure = isSecure
        }

        /// Decodes the archived object.
        ///
        /// - Parameter type: Its class or one of its superclasses.
        /// - Returns: The object.
        /// - Throws: `.typeConversionFailed` if the object, or anything in it, cannot be built.
        func decodeRoot(of type: AnyClass) throws -> Any {
            let object = object(at: .uid(graph.root), of: [type])
            guard failure == nil, let object else { throw SecureStorageError.typeConversionFailed }
            return object
        }

        override var allowsKeyedCoding: Bool { true }
        override var requiresSecureCoding: Bool { isSecure }
        override var systemVersion: UInt32 { 2000 }
        override var error: (any Error)? { failure }
        override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
        override var allowedClasses: [AnyClass]? { allowed.last }
        override func version(forClassName className: String) -> Int { NSNotFound }
        override func failWithError(_ error: any Error) { if failure == nil { failure = error } }

        /// Records that something could not be decoded.
        func fail() { failWithError(SecureStorageError.typeConversionFailed) }

        /// Runs a decoding step unless an earlier one failed.
        func attempt<Result>(_ body: () throws -> Result?) -> Result? {
            guard failure == nil else { return nil }
            do { return try body() } catch {
                failWithError(error)
                return nil
            }
        }

        /// Returns the field with a name, or the next unnamed field if `key` is nil.
        func field(_ key: String?) -> PropertyListValue? {
            guard !contexts.isEmpty, failure == nil else { return nil }
            let last = contexts.count - 1
            if let key {
                return contexts[last].fields[ByteString(key.hasPrefix("$") ? "$" + key : key)]
            }
            defer { contexts[last].nextUnnamed += 1 }
            return contexts[last].fields[ByteString("$\(contexts[last].nextUnnamed)")]
        }

        override func containsValue(forKey key: String) -> Bool { field(key) != nil }

        override func decodeObject() -> Any? { object(at: field(nil), of: nil) }
        override func decodeObject(forKey key: String) -> Any? { object(at: field(key), of: nil) }
        override func decodeObject(of classes: [AnyClass]?, forKey key: String) -> Any? {
            object(at: field(key), of: classes)
        }
        override func decodePropertyList() -> Any? {
            object(at: field(nil), of: ArchiveClass.propertyListClasses)
        }
        override func decodePropertyList(forKey key: String) -> Any? {
            object(at: field(key), of: ArchiveClass.propertyListClasses)
        }
        override func decodeData() -> Data? {
            (object(at: field(nil), of: [NSData.self]) as? NSData).map { Data(referencing: $0) }
        }

        override func decodeBool(forKey key: String) -> Bool {
            number(field(key))?.boolValue ?? false
        }
        override func decodeInteger(forKey key: String) -> Int { integer(field(key)) }
        override func decodeCInt(forKey key: String) -> Int32 { integer(field(key)) }
        override func decodeInt32(forKey key: String) -> Int32 { integer(field(key)) }
        override func decodeInt64(forKey key: String) -> Int64 { integer(field(key)) }
        override func decodeFloat(forKey key: String) -> Float {
            number(field(key))?.floatValue ?? 0
        }
        override func decodeDouble(forKey key: String) -> Double {
            number(field(key))?.doubleValue ?? 0
        }

        override func withDecodedUnsafeBytes<ResultType>(
            forKey key: String, body: (UnsafeRawBufferPointer?) throws -> ResultType
        ) rethrows -> ResultType {
            guard let data = bytes(field(key)) else { return try body(nil) }
            return try data.withUnsafeBytes { try body($0) }
        }

        override func withDecodedUnsafeBufferPointer<ResultType>(
            forKey key: String, body: (UnsafeBufferPointer<UInt8>?) throws -> ResultType
        ) rethrows -> ResultType {
            guard let data = bytes(field(key)) else { return try body(nil) }
            return try data.withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
        }

        // Decodes an unnamed value by its Objective-C type. No Swift class writes structures or
        // arrays of them.
        override func decodeValue(
            ofObjCType type: UnsafePointer<Int8>, at data: UnsafeMutableRawPointer
        ) {
            switch UInt8(bitPattern: type.pointee) {
            case UInt8(ascii: "@"):
                let object = decodeObject()
                data.assumingMemoryBound(to: Any?.self).pointee = object
            case UInt8(ascii: "c"): store(integer(field(nil)) as Int8, at: data)
            case UInt8(ascii: "C"): store(integer(field(nil)) as UInt8, at: data)
            case UInt8(ascii: "s"): store(integer(field(nil)) as Int16, at: data)
            case UInt8(ascii: "S"): store(integer(field(nil)) as UInt16, at: data)
            case UInt8(ascii: "i"), UInt8(ascii: "l"):
                store(integer(field(nil)) as Int32, at: data)
            case UInt8(ascii: "I"), UInt8(ascii: "L"):
                store(integer(field(nil)) as UInt32, at: data)
            case UInt8(ascii: "q"): store(integer(field(nil)) as Int64, at: data)
            case UInt8(ascii: "Q"): store(integer(field(nil)) as UInt64, at: data)
            case UInt8(ascii: "f"): store(number(field(nil))?.floatValue ?? 0, at: data)
            case UInt8(ascii: "d"): store(number(field(nil))?.doubleValue ?? 0, at: data)
            case UInt8(ascii: "B"): store(number(field(nil))?.boolValue ?? false, at: data)
            default: fail()
            }
        }

        private func store<Value>(_ value: Value, at place: UnsafeMutableRawPointer) {
            place.storeBytes(of: value, as: Value.self)
        }
    }
#endif
