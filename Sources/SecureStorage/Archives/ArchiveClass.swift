#if !canImport(ObjectiveC)
    internal import Foundation

    /// What can be made from an archive's object.
    ///
    /// `init(coder:)` of Foundation's classes ends the process when an archive is not as they
    /// expect, so these are never asked: the inert ones are made by ``ArchiveDecoder`` itself, and
    /// others, such as `Process`, cannot be in an archive at all.
    enum ArchiveClass {
        /// A class of Foundation whose objects are values or collections.
        case foundation(AnyClass)
        /// A class of the app.
        case app(any NSCoding.Type, AnyClass)

        /// The class of a `$classname`.
        ///
        /// A class that the app set with `NSKeyedUnarchiver.setClass(_:forClassName:)` goes first.
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

        /// The class itself, if its objects can be in an archive.
        init?(_ type: AnyClass) {
            if Self.inert.contains(where: { $0 == type }) {
                self = .foundation(type)
                return
            }
            guard let coding = type as? any NSCoding.Type, Self.isPlainName(_typeName(type)) else {
                return nil
            }
            // `super.init(coder:)` of an app's subclass would be the init(coder:) to keep clear of.
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

        /// Whether the class itself says that it checks what it decodes.
        var supportsSecureCoding: Bool {
            switch self {
            case .foundation: true
            case .app(let coding, _):
                (coding as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
            }
        }

        /// The names of the class and of those that it derives from, its own first.
        var names: [String] {
            let derived = Self.chain(of: type).dropFirst().filter { ancestor in
                Self.isPlainName(_typeName(ancestor))
            }
            return ([type] + derived).map { NSStringFromClass($0) }
        }

        func isKind(of classes: [AnyClass]) -> Bool {
            Self.chain(of: type).contains { ancestor in classes.contains { $0 == ancestor } }
        }

        /// The classes that can be read without naming them, with those that derive from them.
        static var propertyListClasses: [AnyClass] {
            [
                NSString.self, NSNumber.self, NSData.self, NSDate.self, NSArray.self,
                NSDictionary.self,
            ]
        }

        /// Foundation's values and collections; also what a collection may hold unnamed.
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

        /// Whether a name is `Module.Class`.
        ///
        /// `NSStringFromClass` ends the process for nested, private and generic classes, and the
        /// runtime takes names of other forms for mangled ones.
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
