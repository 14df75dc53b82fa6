#if !canImport(ObjectiveC)
    internal import Foundation

    extension ArchiveDecoder {
        /// Returns the object that a field refers to.
        ///
        /// - Parameters:
        ///   - field: The field's value, or nil if the field does not exist.
        ///   - classes: The classes the object may have. nil allows property list objects and,
        ///     without secure coding, any other object that can be built.
        /// - Returns: nil for a missing field, for a reference to nil, and after a failure.
        func object(at field: PropertyListValue?, of classes: [AnyClass]?) -> Any? {
            attempt {
                guard let field else { return nil }
                guard case .uid(let uid) = field else {
                    throw SecureStorageError.typeConversionFailed
                }
                return try object(uid, of: classes)
            }
        }

        /// Returns the object of an entry.
        func object(_ uid: Int, of classes: [AnyClass]?) throws -> Any? {
            switch graph.entries[uid] {
            case .null: return nil
            case .classDescription: throw SecureStorageError.typeConversionFailed
            case .value(let value):
                if let known = objects[uid] {
                    try check(known, against: classes)
                    return known
                }
                let made = try plainObject(value)
                try check(made, against: classes)
                objects[uid] = made
                return made
            case .object(let name, let fields):
                guard let kind = ArchiveClass(named: name) else {
                    throw SecureStorageError.typeConversionFailed
                }
                try check(kind, against: classes)
                return try make(kind, uid: uid, fields: fields, allowed: classes)
            }
        }

        private func make(
            _ kind: ArchiveClass, uid: Int, fields: [ByteString: PropertyListValue],
            allowed classes: [AnyClass]?
        ) throws -> Any {
            allowed.append(classes ?? ArchiveClass.propertyListClasses)
            defer { allowed.removeLast() }
            switch kind {
            case .foundation(let type):
                let key = CollectionKey(
                    uid: uid, allowed: (classes ?? []).map { ObjectIdentifier($0) })
                if let known = collections[key] { return known }
                let made = try foundationObject(type, fields: fields, allowed: classes)
                collections[key] = made
                return made
            case .app(let coding, _):
                if let known = objects[uid] { return known }
                contexts.append(Context(fields: fields))
                defer { contexts.removeLast() }
                guard let made = coding.init(coder: self), error == nil else {
                    throw SecureStorageError.typeConversionFailed
                }
                objects[uid] = made
                return made
            }
        }

        private func check(_ kind: ArchiveClass, against classes: [AnyClass]?) throws {
            if requiresSecureCoding, !kind.supportsSecureCoding {
                throw SecureStorageError.typeConversionFailed
            }
            if let classes {
                guard kind.isKind(of: classes) else {
                    throw SecureStorageError.typeConversionFailed
                }
                return
            }
            if case .app = kind, !requiresSecureCoding { return }
            guard !requiresSecureCoding || kind.isKind(of: ArchiveClass.propertyListClasses) else {
                throw SecureStorageError.typeConversionFailed
            }
        }

        private func check(_ object: Any, against classes: [AnyClass]?) throws {
            let type: AnyClass =
                object is NSString
                ? NSString.self
                : object is NSNumber ? NSNumber.self : NSData.self
            try check(.foundation(type), against: classes)
        }

        /// Returns an element of a collection.
        ///
        /// Foundation's values are inert, and an app that requests an array expects its elements
        /// too, so they are always allowed. An object of the app must be named, as for the
        /// collection itself.
        func element(_ uid: Int, allowed classes: [AnyClass]?) throws -> Any? {
            guard let classes else {
                return try object(
                    uid, of: requiresSecureCoding ? ArchiveClass.propertyListClasses : nil)
            }
            return try object(
                uid,
                of: classes
                    + ArchiveClass.inert.filter { inert in
                        !classes.contains { $0 == inert }
                    })
        }

        /// Returns the object for a plain value: a string, a number or data.
        private func plainObject(_ value: PropertyListValue) throws -> Any {
            if case .string(let text) = value { return NSString(string: text) }
            if case .data(let data) = value { return NSData(data: data) }
            guard let number = Self.number(value) else {
                throw SecureStorageError.typeConversionFailed
            }
            return number
        }

        static func number(_ value: PropertyListValue) -> NSNumber? {
            switch value {
            case .bool(let value): NSNumber(value: value)
            case .integer(let value): NSNumber(value: value)
            case .unsigned(let value): NSNumber(value: value)
            case .real(let value): NSNumber(value: value)
            default: nil
            }
        }

        /// Returns a field, or the plain value that it refers to; `.null` if it refers to an
        /// object.
        func plainValue(_ field: PropertyListValue?) -> PropertyListValue? {
            guard case .uid(let uid) = field else { return field }
            if case .value(let value) = graph.entries[uid] { return value }
            return .null
        }

        /// Returns the number in a field, or nil if the field does not exist.
        ///
        /// Any other content is a failure.
        func number(_ field: PropertyListValue?) -> NSNumber? {
            guard let value = plainValue(field) else { return nil }
            guard let number = Self.number(value) else {
                fail()
                return nil
            }
            return number
        }

        /// Returns the integer in a field, or 0 if the field does not exist.
        ///
        /// Any other content, or a number that does not fit, is a failure.
        func integer<Value: FixedWidthInteger>(_ field: PropertyListValue?) -> Value {
            guard let value = plainValue(field) else { return 0 }
            let result: Value? =
                switch value {
                case .bool(let value): value ? 1 : 0
                case .integer(let value): Value(exactly: value)
                case .unsigned(let value): Value(exactly: value)
                case .real(let value): Value(exactly: value.rounded(.towardZero))
                default: nil
                }
            if result == nil { fail() }
            return result ?? 0
        }

        /// Returns the bytes in a field, or nil if the field does not exist.
        ///
        /// Any other content is a failure.
        func bytes(_ field: PropertyListValue?) -> Data? {
            guard let value = plainValue(field) else { return nil }
            guard case .data(let data) = value else {
                fail()
                return nil
            }
            return data
        }
    }
#endif
