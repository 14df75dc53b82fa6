#if !canImport(ObjectiveC)
    internal import Foundation

    /// The stored contents of Foundation's collections.
    enum CollectionContents {
        // On Linux, Foundation bridges each element it returns to a Swift value, with everything it
        // contains. That never ends for a collection that contains itself, ends the process for an
        // empty URL, and copies shared objects. The collections' mirrors expose the stored objects.

        /// Returns the stored elements of an array, or nil for a subclass with its own storage.
        static func elements(of array: NSArray) -> [AnyObject]? {
            guard type(of: array) == NSArray.self || type(of: array) == NSMutableArray.self else {
                return nil
            }
            return unboxed(Mirror(reflecting: array), count: array.count)
        }

        /// Returns the stored elements of a set, or nil for a subclass with its own storage.
        static func elements(of set: NSSet) -> [AnyObject]? {
            guard type(of: set) == NSSet.self || type(of: set) == NSMutableSet.self else {
                return nil
            }
            return unboxed(Mirror(reflecting: set), count: set.count)
        }

        /// Returns the stored elements of an ordered set, or nil for a subclass with its own
        /// storage.
        static func elements(of set: NSOrderedSet) -> [AnyObject]? {
            // Its own mirror bridges. The superclass mirror does not, and only the mutable class
            // has one.
            guard type(of: set) == NSOrderedSet.self || type(of: set) == NSMutableOrderedSet.self,
                let copy = set.mutableCopy() as? NSMutableOrderedSet,
                let fields = Mirror(copy, children: [:], ancestorRepresentation: .generated)
                    .superclassMirror,
                let stored = fields.children.first(where: { $0.label == "_orderedStorage" }),
                let array = stored.value as? NSArray, array.count == set.count
            else { return nil }
            return elements(of: array)
        }

        /// Returns the stored keys and values of a dictionary, or nil for a subclass with its own
        /// storage.
        static func pairs(
            of dictionary: NSDictionary
        ) -> (keys: [AnyObject], values: [AnyObject])? {
            guard
                type(of: dictionary) == NSDictionary.self
                    || type(of: dictionary) == NSMutableDictionary.self
            else { return nil }
            var keys: [AnyObject] = []
            var values: [AnyObject] = []
            for child in Mirror(reflecting: dictionary).children {
                guard let (key, value) = child.value as? (NSObject, AnyObject) else { return nil }
                keys.append(unboxed(key))
                values.append(unboxed(value))
            }
            return keys.count == dictionary.count ? (keys, values) : nil
        }

        /// Unwraps an app's object that is not an `NSObject` from the box in which Foundation
        /// stores it.
        static func unboxed(_ object: AnyObject) -> AnyObject {
            (object as? any NSCoding).map { $0 as AnyObject } ?? object
        }

        /// Refuses a URL that could not be decoded.
        ///
        /// `URL` accepts fewer strings than `NSURL`, and bridging a string it does not accept ends
        /// the process.
        static func check(_ url: NSURL) throws {
            guard URL(string: url.absoluteString, relativeTo: url.baseURL) != nil else {
                throw SecureStorageError.typeConversionFailed
            }
        }

        private static func unboxed(_ mirror: Mirror, count: Int) -> [AnyObject]? {
            let elements = mirror.children.map { unboxed($0.value as AnyObject) }
            return elements.count == count ? elements : nil
        }
    }

    /// Checks the contents of hashed collections: sets, ordered sets and the keys of dictionaries.
    ///
    /// Foundation on Linux ends the process for some objects in them.
    struct HashingCheck {
        // The collections known to be comparable, by identity; the coder keeps them alive.
        private var comparable: Set<ObjectIdentifier> = []

        /// Refuses objects that cannot be looked up by their hashes.
        ///
        /// A collection's hash is its count, so a set of many collections compares each with every
        /// other. Two spellings of a text, two ordered sets and two nulls may be equal but differ
        /// in their hashes, for which the standard library ends the process.
        mutating func check(_ objects: [Any]) throws {
            var texts: Set<String> = []
            var spellings: Set<ByteString> = []
            var collections = 0
            var orderedSets = 0
            var nulls = 0
            for object in objects {
                guard let object = object as? NSObject else {
                    throw SecureStorageError.typeConversionFailed
                }
                switch object {
                case let text as NSString:
                    texts.insert(text as String)
                    spellings.insert(ByteString(text as String))
                case is NSArray, is NSDictionary, is NSSet, is NSOrderedSet:
                    collections += 1
                    orderedSets += object is NSOrderedSet ? 1 : 0
                    try checkComparing(object)
                case is NSNull: nulls += 1
                default: break
                }
            }
            guard collections <= 1_000, orderedSets <= 1, nulls <= 1, texts.count == spellings.count
            else {
                throw SecureStorageError.typeConversionFailed
            }
        }

        /// Refuses a collection that cannot be compared with another one.
        ///
        /// Comparing bridges the elements of sets and the keys of dictionaries, and a bridged array
        /// or dictionary has no hash.
        private mutating func checkComparing(_ object: AnyObject) throws {
            switch object {
            case let array as NSArray:
                guard comparable.insert(ObjectIdentifier(array)).inserted else { return }
                let elements = CollectionContents.elements(of: array)
                for element in try known(elements) { try checkComparing(element) }
            case let set as NSSet:
                guard comparable.insert(ObjectIdentifier(set)).inserted else { return }
                try checkPlain(known(CollectionContents.elements(of: set)))
            case let set as NSOrderedSet:
                guard comparable.insert(ObjectIdentifier(set)).inserted else { return }
                try checkPlain(known(CollectionContents.elements(of: set)))
            case let dictionary as NSDictionary:
                guard comparable.insert(ObjectIdentifier(dictionary)).inserted else { return }
                let (keys, values) = try known(CollectionContents.pairs(of: dictionary))
                try checkPlain(keys)
                for value in values { try checkComparing(value) }
            default: break
            }
        }

        private func checkPlain(_ objects: [AnyObject]) throws {
            for object in objects {
                switch object {
                case is NSArray, is NSDictionary, is NSSet, is NSOrderedSet:
                    throw SecureStorageError.typeConversionFailed
                default: break
                }
            }
        }

        private func known<Contents>(_ contents: Contents?) throws -> Contents {
            guard let contents else { throw SecureStorageError.typeConversionFailed }
            return contents
        }
    }
#endif
