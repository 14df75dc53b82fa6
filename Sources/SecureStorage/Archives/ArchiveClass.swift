#if !canImport(ObjectiveC)
    internal import Foundation

    /// A class whose objects can be decoded from an archive.
    ///
    /// `init(coder:)` of Foundation's classes ends the process on unexpected input, so it is never
    /// called. ``ArchiveDecoder`` builds the inert classes itself; other Foundation classes, such
    /// as `Process`, cannot occur in an archive at all.
    enum ArchiveClass {
        /// A Foundation class whose objects are values or collections.
        case foundation(AnyClass)
        /// A class of the app.
        case app(any NSCoding.Type, AnyClass)

        /// Looks up the class named by a `$classname`.
        ///
        /// A class that the app set with `NSKeyedUnarchiver.setClass(_:forClassName:)` takes
        /// precedence.
        init?(named name: String) {
            if let mapped = NSKeyedUnarchiver.class(forClassName: name) {
                self.init(mapped)
            } else if let known = Self.inert.first(where: { NSStringFromClass($0) == name }) {
                self = .foundation(known)
            } else if Self.isPlainName(name), let found = NSClassFromString(name) {
                self.init(found)
            } else {
                return nil
            }
        }

        /// Wraps a class if its objects can occur in an archive.
        init?(_ type: AnyClass) {
            if Self.inert.contains(where: { $0 == type }) {
                self = .foundation(type)
                return
            }
            guard let coding = type as? any NSCoding.Type, Self.isPlainName(_typeName(type)) else {
                return nil
            }
            // The `super.init(coder:)` of an app's subclass would be Foundation's, which must not
            // be called.
            for ancestor in Self.chain(of: type) where ancestor != NSObject.self {
                guard !_typeName(ancestor).hasPrefix("Foundation") else { return nil }
            }
            self = .app(coding, type)
        }

        var type: AnyClass {
            switch self {
            case .foundation(let type), .app(_, let type): type
            }
        }

        /// Whether the class declares that it checks what it decodes.
        var supportsSecureCoding: Bool {
            switch self {
            case .foundation: true
            case .app(let coding, _):
                (coding as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
            }
        }

        /// The names of the class and its superclasses, its own first.
        var names: [String] {
            let derived = Self.chain(of: type).dropFirst().filter { ancestor in
                Self.isPlainName(_typeName(ancestor))
            }
            return ([type] + derived).map { NSStringFromClass($0) }
        }

        func isKind(of classes: [AnyClass]) -> Bool {
            Self.chain(of: type).contains { ancestor in classes.contains { $0 == ancestor } }
        }

        /// The classes, with their subclasses, that can be decoded without being named.
        static var propertyListClasses: [AnyClass] {
            [
                NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self,
                NSDictionary.self,
            ]
        }

        /// Foundation's values and collections, which a collection may contain without naming them.
        static var inert: [AnyClass] {
            [
                NSString.self, NSMutableString.self, NSNumber.self, NSData.self, NSMutableData.self,
                NSDate.self, NSNull.self, NSUUID.self, NSURL.self, NSArray.self,
                NSMutableArray.self,
                NSDictionary.self, NSMutableDictionary.self, NSSet.self, NSMutableSet.self,
                NSOrderedSet.self, NSMutableOrderedSet.self,
            ]
        }

        private static func chain(of type: AnyClass) -> [AnyClass] {
            Array(sequence(first: type) { _getSuperclass($0) })
        }

        /// Whether a name has the form `Module.Class`.
        ///
        /// `NSStringFromClass` ends the process for nested, private and generic classes, and the
        /// runtime parses names of other forms as mangled ones.
        private static func isPlainName(_ name: String) -> Bool {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 2
                && parts.allSatisfy { part in
                    part.first.map { $0.isLetter || $0 == "_" } ?? false
                        && part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
                }
        }
    }
#endif
