#if !canImport(ObjectiveC)
    internal import Foundation

    extension ArchiveDecoder {
        /// The object that a field refers to.
        ///
        /// - Parameters:
        ///   - field: The field's value, if the field is there.
        ///   - classes: What the object may be. nil: a property list, and for a class without
        ///     `NSSecureCoding` anything else that can be made.
        /// - Returns: nil for no field, for a reference to nil, and after a failure.
        func object(at field: PropertyListValue?, of classes: [AnyClass]?) -> Any? {
            attempt {
                guard let field else { return nil }
                guard case .uid(let uid) = field else {
                    throw SecureStorageError.typeConversionFailed
                }
                return try object(uid, of: classes)
            }
        }

        /// The object of an entry.
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

        /// What an element of a collection may be.
        ///
        /// Foundation's values are inert, and an app that asks for an array means its elements,
        /// too; an object of the app has to be named, as for the collection itself.
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

        /// A string, number or data that stands for itself.
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

        /// What a field refers to, if it refers to a plain value.
        func plainValue(_ field: PropertyListValue?) -> PropertyListValue? {
            guard case .uid(let uid) = field else { return field }
            if case .value(let value) = graph.entries[uid] { return value }
            return .null
        }

        /// The number in a field; nil for no field.
        ///
        /// Anything else in it is a failure.
        func number(_ field: PropertyListValue?) -> NSNumber? {
            guard let value = plainValue(field) else { return nil }
            guard let number = Self.number(value) else {
                fail()
                return nil
            }
            return number
        }

        /// The integer in a field; 0 for no field.
        ///
        /// One that does not fit is a failure.
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

        /// The bytes in a field; nil for no field.
        ///
        /// Anything else in it is a failure.
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
