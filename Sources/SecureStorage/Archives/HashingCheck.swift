#if !canImport(ObjectiveC)
    internal import Foundation

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
